#include "trace/miss_kinds.hpp"

#include "base/nearest.hpp"
#include "model/metrics.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <bit>

namespace recount::trace {
namespace {

/// The first level of a machine, and nothing else.
model::MachineDescription first_level(const model::MachineDescription& machine) {
  model::MachineDescription alone;
  alone.name = machine.name;
  alone.levels.push_back(machine.levels.front());
  alone.levels.front().inclusion = model::Inclusion::non_inclusive;
  alone.cores = machine.cores;
  return alone;
}

model::MachineDescription full(model::MachineDescription machine, bool prefetching) {
  model::LevelDescription& level = machine.levels.front();
  level.ways = level.size / level.line;
  level.policy = model::Policy::lru;
  level.index.clear();
  if (!prefetching) level.prefetch.clear();
  return machine;
}

/// In as many sets where the replacement policy knows so many ways, else in twice as many.
template <class Level>
void double_size(Level& level, std::int64_t& size) {
  size *= 2;
  if (2 * level.ways <= model::policy_ways(level.policy)) level.ways *= 2;
}

model::MachineDescription twice(model::MachineDescription machine) {
  double_size(machine.levels.front(), machine.levels.front().size);
  return machine;
}

model::TlbDescription twice(model::TlbDescription tlb) {
  for (model::TlbLevel& level : tlb.levels)
    double_size(level, level.entries);
  return tlb;
}

} // namespace

void TlbAlone::translate(std::uint64_t page, std::uint64_t last) {
  for (; page <= last; ++page)
    if (!tlb_.translate(page, model::Cause::load)) ++walks_;
  newest_ = last;
}

std::vector<std::string_view> MissKinds::names_of(const model::MachineDescription& machine) {
  const bool mixed = machine.placement && machine.placement->mixed;
  std::vector<std::string_view> all;
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((i < walks || (machine.tlb && !mixed)) && (i != coherence || machine.cores > 1))
      all.push_back(names[i]);
  return all;
}

void MissKinds::select(std::uint64_t core) {
  core_ = static_cast<std::size_t>(core % cores_);
  if (tlbs_.size() <= core_) tlbs_.resize(core_ + 1, new_tlbs_);
  for (model::Hierarchy* cache : {&full_, &twice_, &padded_})
    cache->select(core);
  if (fetching_full_) fetching_full_->select(core);
}

MissKinds::MissKinds(const model::MachineDescription& machine)
    : full_(full(first_level(machine), false)),
      twice_(twice(first_level(machine))),
      padded_(first_level(machine)),
      padding_(static_cast<std::uint64_t>(machine.levels.front().line)),
      shift_(
          static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(machine.levels.front().line)))),
      cores_(static_cast<std::size_t>(machine.cores)) {
  if (!machine.levels.front().prefetch.empty()) fetching_full_.emplace(full(first_level(machine), true));
  if (machine.tlb) {
    new_tlbs_.emplace_back(*machine.tlb);
    new_tlbs_.emplace_back(*model::with_huge_pages(machine).tlb);
    new_tlbs_.emplace_back(twice(*machine.tlb));
  }
  tlbs_.push_back(new_tlbs_);
}

bool MissKinds::is_new(std::uint64_t line) {
  constexpr unsigned lines = 64;
  std::uint64_t& known = missed_[line / lines];
  const std::uint64_t bit = std::uint64_t{1} << line % lines;
  const bool is = (known & bit) == 0;
  known |= bit;
  return is;
}

// An access over a line end may have several misses: the new lines are among them.
void MissKinds::classify(std::uint64_t address, unsigned bytes, std::int64_t misses, std::int64_t by_others) {
  counts_[coherence] += by_others;
  misses -= by_others;
  std::int64_t first = 0;
  for (std::uint64_t line = address >> shift_; line <= (address + bytes - 1) >> shift_; ++line)
    first += is_new(line) ? 1 : 0;
  first = std::min(first, misses);
  const std::int64_t in_full = full_.first_misses() - full_misses_;
  const std::int64_t again = std::clamp<std::int64_t>(in_full - first, 0, misses - first);
  counts_[compulsory] += first;
  counts_[capacity] += again;
  counts_[conflict] += misses - first - again;
}

std::int64_t MissKinds::count(std::size_t kind) const {
  if (kind == if_full) return (fetching_full_ ? *fetching_full_ : full_).first_misses();
  if (kind == if_twice) return twice_.first_misses();
  if (kind == if_padded) return padded_.first_misses();
  if (kind < walks) return counts_[kind];
  std::int64_t walks_of_all = 0;
  for (const auto& tlbs : tlbs_)
    walks_of_all += tlbs[kind - walks].walks();
  return walks_of_all;
}

std::optional<std::uint64_t> Padding::conflict(std::uint64_t start, std::uint64_t end,
                                               std::uint64_t address) {
  constexpr std::size_t most_rows = 8, most_walks = 64;
  constexpr int enough = 16; // equal strides
  constexpr std::uint64_t away = std::uint64_t{1} << 57, apart = std::uint64_t{1} << 52, places = 64;
  const bool known = std::ranges::any_of(rows_, [&](const Rows& rows) { return rows.start == start; });
  if (known || rows_.size() == most_rows || end - start >= apart / 2) return {};
  if (walks_.size() >= most_walks && !walks_.contains(start)) return {};
  Walk& walk = walks_[start];
  const std::uint64_t stride = address > walk.last ? address - walk.last : walk.last - address;
  walk.times = stride == walk.stride ? walk.times + 1 : 1;
  walk.stride = stride;
  walk.last = address;
  if (walk.times < enough || stride < 2 * line_ || stride > (end - start) / 2) return {};
  // Aligned as before.
  rows_.push_back({start, end - start, stride, away + found_++ % places * apart + start % apart});
  walks_.erase(start);
  return stride;
}

void Padding::forget(std::uint64_t start) {
  walks_.erase(start);
  std::erase_if(rows_, [&](const Rows& rows) { return rows.start == start; });
}

namespace {

model::Counts none(const model::MachineDescription& machine) {
  model::Counts counts;
  counts.levels.resize(machine.levels.size());
  counts.prefetch.resize(machine.levels.size());
  if (machine.tlb) counts.tlb.resize(machine.tlb->levels.size());
  return counts;
}

/// Whether a count of the first level changes with hits.
bool is_access(std::size_t field) {
  return field == model::number(model::Cause::load) || field == model::number(model::Cause::store);
}

std::int64_t read(const model::LevelCounts& counts, std::size_t field) {
  if (field < model::causes) return counts.accesses[field];
  if (field < 2 * model::causes) return counts.misses[field - model::causes];
  return counts.*model::LevelCounts::others[field - 2 * model::causes];
}

} // namespace

// Metrics are linear: the factor of a count is the value of the metric where that count alone is 1.
void MissMetric::add_terms(const model::MachineDescription& machine, bool tlb) {
  model::Counts counts = none(machine);
  auto& levels = tlb ? counts.tlb : counts.levels;
  for (std::size_t level = 0; level < levels.size(); ++level)
    for (std::size_t field = 0; field < model::LevelCounts::size; ++field) {
      *levels[level].fields()[field] = 1;
      const std::int64_t factor = model::metrics(counts, machine).at(name_);
      *levels[level].fields()[field] = 0;
      if (factor == 0) continue;
      if (level == 0 && is_access(field)) terms_.clear();
      if (level == 0 && is_access(field)) return;
      terms_.push_back({tlb, level, field, factor});
    }
}

MissMetric::MissMetric(std::string name, const model::MachineDescription& machine) : name_(std::move(name)) {
  const auto names = model::metric_names(machine);
  if (std::ranges::count(names, name_) == 0)
    throw bad_input(name_, "the model of " + machine.name + " has no such metric",
                    base::did_you_mean(name_, names, "recount-machines(5) lists its metrics"));
  add_terms(machine, false);
  if (!terms_.empty() || name_.find("TLB") != name_.npos) add_terms(machine, true);
  if (terms_.empty())
    throw bad_input(name_, "changes with accesses that hit",
                    "choose misses, such as PAPI_L1_DCM or PAPI_TLB_DM");
}

std::int64_t MissMetric::value(const model::Hierarchy& caches) const {
  std::int64_t sum = 0;
  for (const Term& term : terms_)
    sum += term.factor *
           read(term.tlb ? caches.tlb_counts(term.level) : caches.level(term.level).counts, term.field);
  return sum;
}

} // namespace recount::trace
