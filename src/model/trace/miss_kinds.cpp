#include "model/trace/miss_kinds.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace recount::trace {
namespace {

/// A machine with only the first level of another one.
model::MachineDescription first_level(const model::MachineDescription& machine) {
  model::MachineDescription alone;
  alone.name = machine.name;
  alone.levels.push_back(machine.levels.front());
  alone.levels.front().inclusion = model::Inclusion::non_inclusive;
  alone.cores = machine.cores;
  return alone;
}

model::MachineDescription fully_associative(model::MachineDescription machine, bool prefetching) {
  model::LevelDescription& level = machine.levels.front();
  level.ways = level.size / level.line;
  level.policy = model::Policy::lru;
  level.index.clear();
  if (!prefetching) level.prefetch.clear();
  return machine;
}

/// Doubles the ways if the replacement policy supports that many, otherwise the sets.
template <class Level>
void double_size(Level& level, std::int64_t& size) {
  size *= 2;
  if (2 * level.ways <= model::policy_ways(level.policy)) level.ways *= 2;
}

model::MachineDescription doubled(model::MachineDescription machine) {
  double_size(machine.levels.front(), machine.levels.front().size);
  return machine;
}

model::TlbDescription doubled(model::TlbDescription tlb) {
  for (model::TlbLevel& level : tlb.levels)
    double_size(level, level.entries);
  return tlb;
}

} // namespace

void SeparateTlb::translate(std::uint64_t page, std::uint64_t last) {
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
  if (tlbs_.size() <= core_) tlbs_.resize(core_ + 1, empty_tlbs_);
  for (model::Hierarchy* cache : {&full_, &twice_, &padded_})
    cache->select(core);
  if (full_prefetching_) full_prefetching_->select(core);
}

MissKinds::MissKinds(const model::MachineDescription& machine)
    : full_(fully_associative(first_level(machine), false)),
      twice_(doubled(first_level(machine))),
      padded_(first_level(machine)),
      padding_(static_cast<std::uint64_t>(machine.levels.front().line)),
      shift_(
          static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(machine.levels.front().line)))),
      cores_(static_cast<std::size_t>(machine.cores)) {
  if (!machine.levels.front().prefetch.empty())
    full_prefetching_.emplace(fully_associative(first_level(machine), true));
  if (machine.tlb) {
    empty_tlbs_.emplace_back(*machine.tlb);
    empty_tlbs_.emplace_back(*model::with_huge_pages(machine).tlb);
    empty_tlbs_.emplace_back(doubled(*machine.tlb));
  }
  tlbs_.push_back(empty_tlbs_);
}

bool MissKinds::is_new(std::uint64_t line) {
  std::uint64_t& missed = missed_[line / 64];
  const std::uint64_t bit = std::uint64_t{1} << line % 64;
  return (std::exchange(missed, missed | bit) & bit) == 0;
}

// An access that crosses lines can have several misses. Misses of new lines are counted first.
void MissKinds::classify(std::uint64_t address, unsigned bytes, std::int64_t misses, std::int64_t by_others) {
  counts_[coherence] += by_others;
  misses -= by_others;
  std::int64_t new_lines = 0;
  for (std::uint64_t line = address >> shift_; line <= (address + bytes - 1) >> shift_; ++line)
    new_lines += is_new(line) ? 1 : 0;
  new_lines = std::min(new_lines, misses);
  const std::int64_t in_full = full_.first_misses() - full_misses_;
  const std::int64_t by_capacity = std::clamp<std::int64_t>(in_full - new_lines, 0, misses - new_lines);
  counts_[compulsory] += new_lines;
  counts_[capacity] += by_capacity;
  counts_[conflict] += misses - new_lines - by_capacity;
}

std::int64_t MissKinds::count(std::size_t kind) const {
  if (kind == if_full) return (full_prefetching_ ? *full_prefetching_ : full_).first_misses();
  if (kind == if_twice) return twice_.first_misses();
  if (kind == if_padded) return padded_.first_misses();
  if (kind < walks) return counts_[kind];
  std::int64_t sum = 0;
  for (const auto& tlbs : tlbs_)
    sum += tlbs[kind - walks].walks();
  return sum;
}

std::optional<std::uint64_t> Padding::add_conflict(std::uint64_t start, std::uint64_t end,
                                                   std::uint64_t address) {
  constexpr std::size_t max_padded = 8, max_runs = 64;
  constexpr int enough = 16; // conflict misses at one stride
  // Addresses that no program uses, in slots that padded data cannot leave.
  constexpr std::uint64_t unused = std::uint64_t{1} << 57, slot_bytes = std::uint64_t{1} << 52, slots = 64;
  const bool padded = std::ranges::any_of(rows_, [&](const PaddedRows& rows) { return rows.start == start; });
  if (padded || rows_.size() == max_padded || end - start >= slot_bytes / 2) return {};
  if (runs_.size() >= max_runs && !runs_.contains(start)) return {};
  StrideRun& run = runs_[start];
  const std::uint64_t stride = address > run.last ? address - run.last : run.last - address;
  run.length = stride == run.stride ? run.length + 1 : 1;
  run.stride = stride;
  run.last = address;
  if (run.length < enough || stride < 2 * line_ || stride > (end - start) / 2) return {};
  const std::uint64_t slot = moved_++ % slots;
  rows_.push_back(
      {start, end - start, stride, unused + slot * slot_bytes + start % slot_bytes}); // same alignment
  runs_.erase(start);
  return stride;
}

void Padding::forget(std::uint64_t start) {
  runs_.erase(start);
  std::erase_if(rows_, [&](const PaddedRows& rows) { return rows.start == start; });
}

} // namespace recount::trace
