// Kinds of L1 misses (compulsory, capacity, conflict, coherence), and misses on variants of the machine.
#pragma once

#include "model/hierarchy.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::trace {

/// Simulates padding: data in which conflict misses recur at a constant stride are treated as rows of that
/// length and are moved to addresses where each row is followed by an unused line. At most eight blocks of
/// data at a time; a block is moved at the miss that establishes its stride.
class Padding {
public:
  explicit Padding(std::uint64_t line) : line_(line) {}
  /// The address of an access with padded rows.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t address) const {
    for (const PaddedRows& rows : rows_)
      if (address - rows.start < rows.bytes) return padded_address(rows, address);
    return address;
  }
  /// Adds a conflict miss in the data [start, end). Returns the bytes of a row if this miss establishes them.
  std::optional<std::uint64_t> add_conflict(std::uint64_t start, std::uint64_t end, std::uint64_t address);
  /// Drops data that were freed.
  void forget(std::uint64_t start);

private:
  struct PaddedRows {
    std::uint64_t start, bytes, row, base; ///< base: address that they are moved to
  };
  struct StrideRun {
    std::uint64_t last = 0, stride = 0;
    int length = 0; ///< conflict misses at this stride in a row
  };
  [[nodiscard]] std::uint64_t padded_address(const PaddedRows& rows, std::uint64_t address) const {
    const std::uint64_t offset = address - rows.start;
    return rows.base + offset + offset / rows.row * line_;
  }

  std::uint64_t line_;
  std::vector<PaddedRows> rows_;
  std::uint64_t moved_ = 0;                 ///< blocks of data so far
  std::map<std::uint64_t, StrideRun> runs_; ///< by start of the data
};

/// A data TLB that is simulated apart from the caches.
class SeparateTlb {
public:
  explicit SeparateTlb(const model::TlbDescription& description) : tlb_(description, 1) {}
  void access(std::uint64_t address, unsigned bytes) {
    const std::uint64_t page = address >> tlb_.page_shift(),
                        last = (address + bytes - 1) >> tlb_.page_shift();
    if (page != newest_ || last != page) [[unlikely]]
      translate(page, last);
  }
  /// Misses of the last level.
  [[nodiscard]] std::int64_t walks() const { return walks_; }

private:
  void translate(std::uint64_t page, std::uint64_t last);
  model::Tlb tlb_;
  std::uint64_t newest_ = ~std::uint64_t{0};
  std::int64_t walks_ = 0;
};

/// Classifies L1 misses after Hill, Aspects of Cache Memory and Instruction Buffer Performance, 1987.
/// Compulsory: the first miss of a line. Coherence: a store by another core invalidated the line. Capacity: a
/// fully associative LRU cache of the same size misses as well. Conflict: that cache hits. Also counts L1
/// misses and page walks of the same accesses on machines that differ in one property; only L1 or the TLB is
/// simulated for each.
class MissKinds {
public:
  enum Number : std::size_t {
    compulsory,
    capacity,
    conflict,
    coherence,
    if_full,
    if_twice,
    if_padded,
    walks,
    walks_if_huge,
    walks_if_twice
  };
  static constexpr std::array<std::string_view, 10> names{
      "MODEL_L1_COMPULSORY", "MODEL_L1_CAPACITY",   "MODEL_L1_CONFLICT",  "MODEL_L1_COHERENCE",
      "MODEL_L1_IF_FULL",    "MODEL_L1_IF_TWICE",   "MODEL_L1_IF_PADDED", "MODEL_WALKS",
      "MODEL_WALKS_IF_HUGE", "MODEL_WALKS_IF_TWICE"};
  /// The names that apply to a machine: page walks need a TLB and pages of one size, coherence needs several
  /// cores.
  [[nodiscard]] static std::vector<std::string_view> names_of(const model::MachineDescription& machine);

  explicit MissKinds(const model::MachineDescription& machine);
  /// Selects the core of the next accesses.
  void select(std::uint64_t core);
  /// Adds an access that had `misses` in L1 of the machine, `by_others` of them due to other cores. Returns
  /// whether a count has changed.
  template <bool store>
  bool access(std::uint64_t address, unsigned bytes, std::int64_t misses, std::int64_t by_others) {
    put<store>(full_, address, bytes);
    put<store>(twice_, address, bytes);
    put<store>(padded_, padding_(address), bytes);
    if (full_prefetching_) put<store>(*full_prefetching_, address, bytes);
    for (auto& tlb : tlbs_[core_])
      tlb.access(address, bytes);
    if (misses > 0) [[unlikely]]
      classify(address, bytes, misses, by_others);
    full_misses_ = full_.first_misses();
    const std::int64_t all = sum();
    const bool changed = misses > 0 || all != sum_;
    sum_ = all;
    return changed;
  }
  /// The line leaves the caches.
  void flush(std::uint64_t address) {
    full_.flush(address);
    twice_.flush(address);
    padded_.flush(padding_(address));
    if (full_prefetching_) full_prefetching_->flush(address);
  }
  [[nodiscard]] std::int64_t count(std::size_t kind) const;
  /// Adds a conflict miss in the data [start, end). Returns the bytes of a row if the data are padded from
  /// now on.
  std::optional<std::uint64_t> pad(std::uint64_t start, std::uint64_t end, std::uint64_t address) {
    return padding_.add_conflict(start, end, address);
  }
  void forget(std::uint64_t start) { padding_.forget(start); }

private:
  template <bool store>
  static void put(model::Hierarchy& cache, std::uint64_t address, unsigned bytes) {
    if constexpr (store)
      cache.store(address, bytes);
    else
      cache.load(address, bytes);
  }
  [[nodiscard]] std::int64_t sum() const {
    std::int64_t all = full_.first_misses() + twice_.first_misses() + padded_.first_misses();
    if (full_prefetching_) all += full_prefetching_->first_misses();
    for (const auto& tlbs : tlbs_)
      for (const SeparateTlb& tlb : tlbs)
        all += tlb.walks();
    return all;
  }
  void classify(std::uint64_t address, unsigned bytes, std::int64_t misses, std::int64_t by_others);
  bool is_new(std::uint64_t line);

  model::Hierarchy full_, twice_, padded_;
  Padding padding_;
  std::optional<model::Hierarchy> full_prefetching_; ///< full_ with the prefetchers of the machine, if any
  std::vector<std::vector<SeparateTlb>> tlbs_;       ///< by core: walks, walks_if_huge, walks_if_twice
  std::vector<SeparateTlb> empty_tlbs_;              ///< copied for each new core
  std::size_t core_ = 0;
  unsigned shift_;               ///< log2 of a line
  std::size_t cores_;            ///< of the machine
  std::int64_t full_misses_ = 0; ///< before the access
  std::int64_t sum_ = 0;         ///< of all counts on variants
  std::array<std::int64_t, 4> counts_{};
  std::unordered_map<std::uint64_t, std::uint64_t> missed_; ///< by line / 64: a bit per line that has missed
};

} // namespace recount::trace
