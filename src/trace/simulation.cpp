#include "trace/simulation.hpp"

#include "model/hierarchy_wide.hpp"
#include "trace/plain_words.hpp"

#include <algorithm>

namespace recount::trace {

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

} // namespace recount::trace
