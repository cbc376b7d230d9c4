// Addresses of data whose rows are a cache line longer than they are.
#pragma once

#include "model/hierarchy.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::trace {

/// Finds data that conflict misses walk through at a constant stride, and moves them to where each such row
/// is followed by an unused line. At most eight at a time; another layout begins at the miss that decides.
class Padding {
public:
  explicit Padding(std::uint64_t line) : line_(line) {}
  /// The address that an access has with the longer rows.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t address) const {
    for (const Rows& rows : rows_)
      if (address - rows.start < rows.bytes) return moved(rows, address);
    return address;
  }
  /// A conflict miss within data. The bytes of a row, once the data have been found.
  std::optional<std::uint64_t> conflict(std::uint64_t start, std::uint64_t end, std::uint64_t address);
  /// The data that began there are no more.
  void forget(std::uint64_t start);

private:
  struct Rows {
    std::uint64_t start, bytes, row, base; ///< base: where they are moved to
  };
  struct Walk {
    std::uint64_t last = 0, stride = 0;
    int times = 0;
  };
  [[nodiscard]] std::uint64_t moved(const Rows& rows, std::uint64_t address) const {
    const std::uint64_t offset = address - rows.start;
    return rows.base + offset + offset / rows.row * line_;
  }

  std::uint64_t line_;
  std::vector<Rows> rows_;
  std::uint64_t found_ = 0;             ///< data so far
  std::map<std::uint64_t, Walk> walks_; ///< by start of the data
};

// Which kind of miss each miss of the first level is, and which of them and of the page walks another machine
// has.

/// A TLB alone.
class TlbAlone {
public:
  explicit TlbAlone(const model::TlbDescription& description) : tlb_(description, 1) {}
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

/// After Hill, Aspects of Cache Memory and Instruction Buffer Performance, 1987: compulsory, the first miss
/// of a line; coherence, another core's store has removed the line; capacity, a fully associative LRU cache
/// of the same size misses as well; conflict, it hits. Then what the same accesses do where one part of the
/// machine is otherwise. The first level and the TLB are simulated alone for that.
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
  /// Those of a machine: without a TLB, there are no walks, and with one core no coherence;
  /// pages of two sizes are not simulated beside.
  [[nodiscard]] static std::vector<std::string_view> names_of(const model::MachineDescription& machine);

  explicit MissKinds(const model::MachineDescription& machine);
  /// Which core makes the next accesses.
  void select(std::uint64_t core);
  /// Every access, after it went into the machine, where it had so many misses in the first level, and so
  /// many of them because of other cores. True: a count has changed.
  template <bool store>
  bool access(std::uint64_t address, unsigned bytes, std::int64_t misses, std::int64_t by_others) {
    put<store>(full_, address, bytes);
    put<store>(twice_, address, bytes);
    put<store>(padded_, padding_(address), bytes);
    if (fetching_full_) put<store>(*fetching_full_, address, bytes);
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
  [[nodiscard]] std::int64_t count(std::size_t kind) const;
  /// The data that a conflict miss lies in; the bytes of a row where the data have rows that are padded from
  /// now on.
  std::optional<std::uint64_t> pad(std::uint64_t start, std::uint64_t end, std::uint64_t address) {
    return padding_.conflict(start, end, address);
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
    if (fetching_full_) all += fetching_full_->first_misses();
    for (const auto& tlbs : tlbs_)
      for (const TlbAlone& tlb : tlbs)
        all += tlb.walks();
    return all;
  }
  void classify(std::uint64_t address, unsigned bytes, std::int64_t misses, std::int64_t by_others);
  bool is_new(std::uint64_t line);

  model::Hierarchy full_, twice_, padded_;
  Padding padding_;
  std::optional<model::Hierarchy> fetching_full_; ///< with the prefetchers of the machine, if it has some
  std::vector<std::vector<TlbAlone>> tlbs_; ///< of each core, as walks, walks_if_huge and walks_if_twice
  std::vector<TlbAlone> new_tlbs_;          ///< of a core that is not yet among them
  std::size_t core_ = 0;
  unsigned shift_;               ///< log2 of a line
  std::size_t cores_;            ///< of the machine
  std::int64_t full_misses_ = 0; ///< before the access
  std::int64_t sum_ = 0;         ///< of all counts beside
  std::array<std::int64_t, 4> counts_{};
  std::unordered_map<std::uint64_t, std::uint64_t> missed_; ///< by 64 lines: those that have missed
};

// A metric of the model that changes with misses, cheap to read.

/// PAPI_L1_DCM, PAPI_L2_LDM, PAPI_TLB_DM, MODEL_L1_WRITE_BACKS ...: a sum over counts that stay the same
/// while accesses hit in the first cache and the first TLB level.
class MissMetric {
public:
  /// Throws recount::Error (bad_input) for a metric that the machine does not have or that changes with hits.
  MissMetric(std::string name, const model::MachineDescription& machine);
  [[nodiscard]] std::int64_t value(const model::Hierarchy& caches) const;
  [[nodiscard]] const std::string& name() const { return name_; }

private:
  struct Term {
    bool tlb;
    std::size_t level, field; ///< field: of model::LevelCounts::fields()
    std::int64_t factor;
  };
  void add_terms(const model::MachineDescription& machine, bool tlb);
  std::string name_;
  std::vector<Term> terms_;
};

} // namespace recount::trace
