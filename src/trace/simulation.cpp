#include "trace/simulation.hpp"

#include "model/hierarchy_wide.hpp"
#include "model/metrics.hpp"
#include "trace/code_blocks.hpp"
#include "trace/protocol.h"

#include <algorithm>
#include <cstdint>

// The words of blocks and accesses alone, where every access is simulated.
namespace recount::trace {

struct PlainCounts {
  std::int64_t instructions = 0, accesses = 0, loads = 0;
};

/// Hands `put` the address of each access and its Blocks::Access, and leaves `at` at the first other word.
/// False: damaged. What `put` refuses, because it does not lie within a line, goes to `split`.
template <class Put, class Split>
[[gnu::always_inline]] inline bool take_plain(const Blocks& blocks, const std::uint64_t*& at,
                                              const std::uint64_t* const end, PlainCounts& counts, Put&& put,
                                              Split&& split) {
  constexpr int ahead = 64;
  static constexpr Blocks::Access none = Blocks::end;
  const Blocks::Access* access = &none;
  const Blocks::Access* const all = blocks.all();
  const std::uint64_t* next = at; // these in registers
  std::int64_t instructions = 0, loads = 0, of_block = 0, others = 0;
  const auto not_made = [&loads](const Blocks::Access* rest) { // `loads` holds those of whole blocks
    for (; *rest != Blocks::end; ++rest)
      loads -= Blocks::loads(*rest);
  };
  for (; next != end; ++next) {
    const std::uint64_t word = *next;
    if (word < RT_CONTROL) [[likely]] {
      const Blocks::Access what = *access++;
      if (!put(word, what)) [[unlikely]] {
        if (what == Blocks::end) return false;
        split(word, what);
      }
      continue;
    }
    if (RT_KIND(word) == RT_BLOCK) [[likely]] {
      const Blocks::Block* const block = blocks.find(RT_PAYLOAD(word));
      if (!block) return false;
      __builtin_prefetch(next + ahead); // processors do not fetch beyond a page of their own accord
      not_made(access);
      access = all + block->access;
      of_block = block->instructions;
      instructions += of_block;
      loads += block->loads;
    } else if (RT_KIND(word) == RT_EXIT) {
      const auto left = static_cast<std::int64_t>(RT_LENGTH(word));
      if (left == 0 || left > of_block) return false;
      instructions += left - of_block;
    } else if (RT_KIND(word) == RT_SKIPPED) {
      if (*access == Blocks::end) return false;
      loads -= Blocks::loads(*access++);
    } else {
      break;
    }
    ++others;
  }
  not_made(access);
  counts.instructions += instructions;
  counts.accesses += next - at - others;
  counts.loads += loads;
  at = next;
  return true;
}

Totals::Values Simulation::values() const {
  Totals::Values made = totals_.values();
  for (const auto& [name, value] :
       {std::pair("PAPI_LD_INS", totals_.loads), std::pair("PAPI_SR_INS", totals_.stores),
        std::pair("PAPI_LST_INS", totals_.loads + totals_.stores),
        std::pair("PAPI_TOT_INS", totals_.instructions)}) {
    made.values[name] = value;
    made.errors.erase(name);
  }
  return made;
}

namespace {

/// An access that crosses lines, which take_plain() counts.
void split(model::Hierarchy& caches, std::uint64_t address, Blocks::Access what) {
  const unsigned bytes = Blocks::bytes(what);
  if (Blocks::loads(what)) {
    caches.load(address, bytes);
    caches.count(-1, 0);
  } else {
    caches.store(address, bytes);
    caches.count(0, -1);
  }
}

template <bool with_tlb>
RECOUNT_BY_EIGHT bool plain_wide(model::Hierarchy& caches, const Blocks& blocks, const std::uint64_t*& at,
                                 const std::uint64_t* end, PlainCounts& counts) {
  typename model::Hierarchy::WideEntrance<with_tlb>::Settled settled;
  const model::Hierarchy::WideEntrance<with_tlb> entrance(caches);
  const auto put = [&settled, entrance](std::uint64_t address, Blocks::Access what)
                       RECOUNT_BY_EIGHT { return entrance.put(address, what, settled); };
  const bool good = take_plain(blocks, at, end, counts, put, [&](std::uint64_t address, Blocks::Access what) {
    split(caches, address, what);
  });
  entrance.count(settled);
  return good;
}

} // namespace

bool Simulated::plain(const Blocks& blocks, const std::uint64_t*& at, const std::uint64_t* const end) {
  if (!gate_.open() || sampler_.active() || !caches_.wide_entrance()) return true;
  const auto take = caches_.machine().tlb ? plain_wide<true> : plain_wide<false>;
  PlainCounts counts;
  const bool good = take(caches_, blocks, at, end, counts);
  const std::int64_t stores = counts.accesses - counts.loads;
  caches_.count(counts.loads, stores);
  loads_ += counts.loads;
  stores_ += stores;
  instructions_ += counts.instructions;
  return good;
}

// The child begins with the contents of the caches, as it would on the core where its parent ran.
std::unique_ptr<Simulated> Simulated::forked(std::uint32_t) const {
  auto child = std::make_unique<Simulated>(*this);
  child->caches_.reset_counters();
  child->sampler_ = WindowSampler(sampler_.every(), child->caches_);
  child->loads_ = child->stores_ = 0;
  child->instructions_ = child->executing_ = 0;
  child->threads_ = 1;
  return child;
}

void Simulated::end() {
  totals_->add(caches_, sampler_);
  totals_->loads += loads_;
  totals_->stores += stores_;
  totals_->instructions += instructions_;
  totals_->threads += threads_;
  totals_->section_seen = totals_->section_seen || gate_.seen();
  ++totals_->processes;
}

Totals::Totals(const model::MachineDescription& machine, bool sampled) : caches(machine) {
  if (!sampled) return;
  sampling.emplace();
  sampling->estimates.assign(model::Sampling::samples, caches.counts());
  sampling->unsettled.assign(caches.vacancies().size(), 0);
}

bool Totals::add(const model::Hierarchy& process, const WindowSampler& sampler) {
  if (!sampling) {
    caches.add(process.counts(), model::Hierarchy(process.machine()).counts(), 1);
    return true;
  }
  const bool enough = sampler.finish(process, *sampling);
  too_few_windows = too_few_windows || !enough;
  return enough;
}

Totals::Values Totals::values() const {
  model::Hierarchy sum(caches);
  if (sampling) {
    const model::Counts none = model::Hierarchy(caches.machine()).counts();
    model::Counts mean = none;
    for (const model::Counts& estimate : sampling->estimates)
      model::add_scaled(mean, estimate, none, 1.0);
    model::Counts all = none;
    model::add_scaled(all, mean, none, 1 / double{model::Sampling::samples});
    sum.add(all, none, 1);
    sum.sampling = sampling;
  }
  return {model::metrics(sum), model::sampling_errors(sum)};
}

double Totals::percent() const {
  if (!sampling) return 100;
  return 100 * static_cast<double>(sampling->counted) /
         static_cast<double>(std::max<std::int64_t>(sampling->accesses, 1));
}

} // namespace recount::trace
