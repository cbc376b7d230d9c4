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
void split(model::Hierarchy& caches, std::uint64_t address, unsigned bytes, bool store) {
  store ? caches.store(address, bytes) : caches.load(address, bytes);
  caches.count(store ? 0 : -1, store ? -1 : 0);
}

template <bool with_tlb>
bool plain_packed(model::Hierarchy& caches, const Blocks& blocks, const std::uint64_t*& at,
                  const std::uint64_t* end, PlainCounts& counts) {
  const auto put = [&](std::uint64_t address, unsigned bytes, bool store) {
    if (!caches.within_line(address, bytes)) return split(caches, address, bytes, store);
    caches.enter<with_tlb>(address, store);
  };
  return take_plain(blocks, at, end, counts, put);
}

template <bool with_tlb>
RECOUNT_BY_EIGHT bool plain_wide(model::Hierarchy& caches, const Blocks& blocks, const std::uint64_t*& at,
                                 const std::uint64_t* end, PlainCounts& counts) {
  const model::Hierarchy::WideEntrance<with_tlb> entrance(caches);
  const auto put = [&, entrance](std::uint64_t address, unsigned bytes, bool store) RECOUNT_BY_EIGHT {
    if (!entrance.put(address, bytes, store)) split(caches, address, bytes, store);
  };
  return take_plain(blocks, at, end, counts, put);
}

} // namespace

bool Simulated::plain(const Blocks& blocks, const std::uint64_t*& at, const std::uint64_t* const end) {
  const auto entrance = caches_.entrance();
  if (!gate_.open() || sampler_.active() || entrance == model::Level::Kind::other) return true;
  const bool tlb = caches_.machine().tlb.has_value(), wide = entrance == model::Level::Kind::wide;
  const auto take =
      wide ? (tlb ? plain_wide<true> : plain_wide<false>) : (tlb ? plain_packed<true> : plain_packed<false>);
  PlainCounts counts;
  const bool good = take(caches_, blocks, at, end, counts);
  const std::int64_t loads = counts.accesses - counts.stores;
  caches_.count(loads, counts.stores);
  loads_ += loads;
  stores_ += counts.stores;
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
