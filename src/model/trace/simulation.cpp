#include "model/trace/simulation.hpp"

#include "base/random.hpp"
#include "model/metrics.hpp"
#include "model/trace/executed.hpp"
#include "model/trace/protocol.h"
#include "model/wide_path.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

// The words of blocks and accesses alone, where every access is simulated.
namespace recount::trace {

struct PlainCounts {
  std::int64_t instructions = 0, accesses = 0, loads = 0;
};

/// Hands `put` the address of each access and its Blocks::Access, and leaves `at` at the first other word.
/// False: damaged. What `put` refuses, because it does not lie within a line, goes to `split`.
/// Begin gets each block, and leave the number of instructions at a side exit.
template <class Put, class Split, class Begin, class Leave>
[[gnu::always_inline]] inline bool take_plain(const Blocks& blocks, const std::uint64_t*& at,
                                              const std::uint64_t* const end, PlainCounts& counts, Put&& put,
                                              Split&& split, Begin&& begin, Leave&& leave) {
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
        others += Blocks::hints(what);
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
      begin(*block);
    } else if (RT_KIND(word) == RT_EXIT) {
      const auto left = static_cast<std::int64_t>(RT_LENGTH(word));
      if (left == 0 || left > of_block) return false;
      instructions += left - of_block;
      leave(static_cast<std::uint32_t>(left));
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

/// A hint, or an access that crosses lines, which take_plain() counts.
void split(model::Hierarchy& caches, std::uint64_t address, Blocks::Access what) {
  const unsigned bytes = Blocks::bytes(what);
  if (Blocks::hints(what)) {
    if (what == Blocks::flush) caches.flush(address);
  } else if (Blocks::loads(what)) {
    caches.load(address, bytes);
    caches.count(-1, 0);
  } else {
    caches.store(address, bytes);
    caches.count(0, -1);
  }
}

template <bool with_tlb, bool with_code>
RECOUNT_AVX512 bool plain_wide(model::Hierarchy& caches, CodeFetcher& code, const Blocks& blocks,
                               const std::uint64_t*& at, const std::uint64_t* end, PlainCounts& counts) {
  typename model::Hierarchy::WidePath<with_tlb>::Tally tally;
  const model::Hierarchy::WidePath<with_tlb> path(caches);
  const auto put = [&tally, path](std::uint64_t address, Blocks::Access what)
                       RECOUNT_AVX512 { return path.put(address, what, tally); };
  const auto across = [&](std::uint64_t address, Blocks::Access what) { split(caches, address, what); };
  const auto begin = [&](const Blocks::Block& block) {
    if constexpr (with_code) code.begin(block, caches);
  };
  const auto leave = [&](std::uint32_t instructions) {
    if constexpr (with_code) code.leave(instructions);
  };
  const bool good = take_plain(blocks, at, end, counts, put, across, begin, leave);
  path.count(tally);
  if constexpr (with_code) code.finish(caches);
  return good;
}

} // namespace

bool Simulated::plain(const Blocks& blocks, const std::uint64_t*& at, const std::uint64_t* const end) {
  if (!gate_.open() || sampler_.active() || !caches_.has_wide_path()) return true;
  const bool tlb = caches_.machine().tlb.has_value();
  const auto take = code_.fetches() ? (tlb ? plain_wide<true, true> : plain_wide<false, true>)
                                    : (tlb ? plain_wide<true, false> : plain_wide<false, false>);
  PlainCounts counts;
  const bool good = take(caches_, code_, blocks, at, end, counts);
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
  child->code_.leave(0); // the parent's last block
  child->caches_.reset_counters();
  child->sampler_ = WindowSampler(sampler_.every(), child->caches_);
  child->loads_ = child->stores_ = 0;
  child->instructions_ = child->executing_ = 0;
  child->threads_ = 1;
  return child;
}

void Simulated::end() {
  code_.finish(caches_);
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

WindowSampler::WindowSampler(std::int64_t every, const model::Hierarchy& caches)
    : every_(every),
      warm_(std::min(model::SampledReplay::max_warm_up, every - 1)),
      random_(caches.machine().seed),
      none_(model::Hierarchy(caches.machine()).counts()),
      filled_(caches.vacancies().size()) {
  sums_.fill(none_);
}

void WindowSampler::skip(std::int64_t accesses) {
  phase_ = Phase::skip;
  left_ = accesses;
}

void WindowSampler::begin_period(const model::Hierarchy&) {
  const std::int64_t free = (every_ - 1 - warm_) * window;
  const auto before =
      static_cast<std::int64_t>(base::random_below(random_, static_cast<std::uint64_t>(free) + 1));
  after_ = free - before;
  skip(before);
}

void WindowSampler::begin_count(const model::Hierarchy& caches) {
  before_ = caches.counts();
  vacancies_ = caches.vacancies();
  phase_ = Phase::count;
  left_ = window;
}

void WindowSampler::end_count(const model::Hierarchy& caches) {
  model::add_scaled(sums_[next_], caches.counts(), before_, 1);
  ++windows_[next_];
  next_ = (next_ + 1) % sums_.size();
  const auto left = caches.vacancies();
  for (std::size_t i = 0; i < left.size(); ++i)
    filled_[i] += static_cast<double>(std::max<std::int64_t>(0, vacancies_[i] - left[i]));
}

void WindowSampler::advance(model::Hierarchy& caches) {
  while (left_ == 0) {
    switch (phase_) {
    case Phase::complete:
      whole_ = caches.counts();
      begin_period(caches);
      break;
    case Phase::skip:
      if (after_ < 0) {
        begin_period(caches);
        break;
      }
      caches.clear();
      phase_ = Phase::warm_up;
      left_ = warm_ * window;
      break;
    case Phase::warm_up: begin_count(caches); break;
    case Phase::count:
      end_count(caches);
      skip(after_);
      after_ = -1;
      break;
    }
    taken_ += phase_ == Phase::complete ? 0 : left_;
  }
}

bool WindowSampler::finish(const model::Hierarchy& caches, model::Sampling& sampling) const {
  const std::int64_t made = taken_ - left_;
  const bool all = phase_ == Phase::complete;
  const std::int64_t first = all ? made : complete, rest = made - first;
  sampling.accesses += made;
  sampling.counted += first;
  for (model::Counts& estimate : sampling.estimates)
    model::add_scaled(estimate, all ? caches.counts() : whole_, none_, 1);
  if (rest == 0) return true;
  const std::int64_t windows = std::accumulate(windows_.begin(), windows_.end(), std::int64_t{0});
  if (std::ranges::count(windows_, 0) > 0) return false;
  sampling.counted += windows * window;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    model::add_scaled(sampling.estimates[i], sums_[i], none_,
                      static_cast<double>(rest) / static_cast<double>(windows_[i] * window));
  for (std::size_t i = 0; i < filled_.size(); ++i)
    sampling.unsettled[i] += filled_[i] * static_cast<double>(rest) / static_cast<double>(windows * window);
  return true;
}

double WindowSampler::weight(std::size_t part) const {
  if (part == 0) return 1;
  const auto rest = static_cast<double>(taken_ - left_ - complete),
             counted = static_cast<double>(windows_[part - 1] * window);
  return counted > 0 ? rest / counted / double{model::Sampling::samples} : 0;
}

} // namespace recount::trace
