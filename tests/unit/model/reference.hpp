// A deliberately simple simulator of the same rules, to hold the model against: time stamps instead of
// ordered sets, one slot a line, no fast paths. It shares the descriptions and the counters with the model,
// nothing else.
#pragma once

#include "model/counts.hpp"
#include "model/machine.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace reference {

using recount::model::Cause;

struct Slot {
  bool full = false, dirty = false;
  std::uint64_t line = 0;
  long used = 0, arrived = 0;
};

struct Set {
  std::vector<Slot> slots;
  std::vector<bool> right_next; // tree-PLRU: node n's children are 2n+1 and 2n+2
  std::vector<int> ages;        // QLRU
  std::vector<long> group_used; // of the groups of four
};

class Cache {
public:
  Cache(std::int64_t sets, std::int64_t ways, recount::model::Policy policy, std::uint64_t seed,
        const std::vector<std::uint64_t>& masks, const recount::model::Qlru& qlru);
  Slot* find(std::uint64_t line);
  void mark_used(std::uint64_t line);
  Slot place(std::uint64_t line, bool dirty); // what left; not full: nothing did
  /// Page numbers from here on are those of huge pages, which have their own index function.
  static constexpr std::uint64_t huge = std::uint64_t{1} << 62;
  std::vector<std::uint64_t> huge_masks;

private:
  void mark_tree(Set& set, std::size_t way, std::size_t low, std::size_t size);
  static std::size_t pointed_at(const Set& set, std::size_t low, std::size_t size);
  void update_ages(Set& set, int but) const;
  std::size_t choose(Set& set);
  Set& set(std::uint64_t line);
  std::vector<Set> sets_;
  recount::model::Policy policy_;
  std::vector<std::uint64_t> masks_;
  recount::model::Qlru qlru_;
  std::uint64_t random_;
  long now_ = 0;
};

/// Placement of a draw, by division and multiplication modulo powers of two.
class Pages {
public:
  explicit Pages(const recount::model::Placement& placement);
  [[nodiscard]] std::uint64_t physical(std::uint64_t address) const;
  [[nodiscard]] bool huge(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t base(std::uint64_t assumed, unsigned array) const;

private:
  recount::model::Placement placement_;
  std::uint64_t run_bytes_ = 4096, key_ = 0, arrays_ = 0;
};

class Simulator {
public:
  explicit Simulator(const recount::model::MachineDescription& machine);
  void load(std::uint64_t address, unsigned bytes) { access(address, bytes, Cause::load); }
  void store(std::uint64_t address, unsigned bytes) { access(address, bytes, Cause::store); }
  void fetch(std::uint64_t address, unsigned bytes);
  /// What follows is done by this core.
  void select(std::uint64_t core) { current_ = core % cores_.size(); }
  recount::model::Counts counts;

private:
  struct Page { // what a streamer knows of one
    long used = 0;
    std::vector<std::uint64_t> lines; // all accesses, repetitions left out
    std::uint64_t farthest = 0;
  };
  struct Core { // by level; of shared levels, those of core 0 are used
    std::vector<Cache> caches, tlbs, walks, huge_tlbs;
    std::vector<Cache> instructions, instruction_tlbs; // the one cache, if any
    std::vector<std::map<std::uint64_t, Page>> pages;
    std::vector<std::map<std::uint64_t, recount::model::Prefetch>> untouched; // prefetched lines
    std::vector<std::set<std::uint64_t>> stolen;                              // lines
  };
  /// Whose level that is.
  Core& of(std::size_t level) { return cores_[level < private_ ? current_ : 0]; }
  Core& of() { return cores_[current_]; }
  void publish(std::uint64_t address, bool stores);
  void unused(Core& core, std::size_t level, std::uint64_t line);
  void access(std::uint64_t address, unsigned bytes, Cause cause);
  void translate(std::uint64_t address, Cause cause);
  void read_table(std::uint64_t page, bool huge);
  void translate_fetch(std::uint64_t page);
  bool ask(std::size_t at, std::uint64_t address, Cause cause, bool write);
  void give(std::size_t at, std::uint64_t address, Cause cause, std::int64_t line_above);
  void take_in(std::size_t at, std::uint64_t address, bool dirty);
  void throw_out(std::size_t at, const Slot& left);
  void prefetch(std::size_t at, std::uint64_t line, Cause cause, bool missed);
  void fetch(std::size_t at, std::uint64_t line, recount::model::Prefetch kind);
  std::vector<std::uint64_t> stream(std::size_t at, const recount::model::Prefetcher& by, std::uint64_t line);
  recount::model::PrefetchCounts& done(std::size_t level, recount::model::Prefetch kind) {
    return counts.prefetch[level][static_cast<std::size_t>(kind)];
  }
  recount::model::LevelCounts& at(std::size_t level) { return counts.levels[level]; }

  [[nodiscard]] std::uint64_t physical(std::uint64_t address) const {
    return machine_.placement ? Pages(*machine_.placement).physical(address) : address;
  }

  recount::model::MachineDescription machine_;
  std::vector<Core> cores_;
  std::size_t current_ = 0, private_ = 0; // private_: levels
  long now_ = 0;
};

} // namespace reference
