#include "profile/attributed.hpp"

#include "trace/protocol.h"

#include <cmath>

namespace recount::profile {

void Attributed::module(const trace::Module& module) {
  Mapping mapping;
  mapping.pid = mapping.tid = pid_;
  mapping.start = module.start;
  mapping.length = module.end - module.start;
  mapping.offset = module.offset;
  mapping.file = module.file;
  run_->made.places.add(mapping);
  run_->made.files.look_at(run_->made.places.spaces(), pid_);
  if (data_) data_->module(module);
}

bool Attributed::memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
  if (!data_) return true;
  if (!data_->memory(kind, words)) return false;
  if (kind == RT_HEAP) place_in(data_->made());
  if (kind == RT_HEAP && kinds_) kinds_->forget(words[0]);
  return true;
}

std::unique_ptr<Attributed> Attributed::forked(std::uint32_t pid) const {
  auto child = std::make_unique<Attributed>(*this);
  child->pid_ = pid;
  if (child->data_) child->data_->set_pid(pid);
  child->counts_.clear();
  child->slots_.clear();
  child->slot_numbers_.clear();
  child->unplaced_.clear();
  child->caches_.reset_counters();
  child->sampler_ = trace::WindowSampler(run_->every, child->caches_);
  child->first_level_ = 0;
  child->begin_part();
  Fork fork;
  fork.pid = fork.tid = pid;
  fork.parent_pid = fork.parent_tid = pid_;
  run_->made.places.add(fork);
  return child;
}

void Attributed::end() {
  const std::size_t events = last_.size(), row = events * parts();
  run_->section_seen = run_->section_seen || gate_.seen();
  if (run_->totals && !run_->totals->add(caches_, sampler_)) return;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] <= 0) continue;
    const Slot of = data_ ? slots_[i / row] : Slot{static_cast<std::uint32_t>(i / row), 0};
    const double each = sampler_.active() ? sampler_.weight(i % row / events) : 1;
    run_->made.places.count(pid_, run_->blocks.instruction(of.instruction).address, i % events,
                            static_cast<std::uint64_t>(counts_[i]),
                            static_cast<std::uint64_t>(std::llround(each * static_cast<double>(counts_[i]))),
                            of.object);
  }
}

void Attributed::begin_part() {
  part_ = sampler_.part();
  misses_ = caches_.first_misses();
  for (std::size_t e = 0; e < last_.size(); ++e)
    last_[e] = value(e);
}

std::int64_t Attributed::value(std::size_t event) const {
  const auto& metric = run_->metrics[event];
  if (const auto* const kind = std::get_if<std::size_t>(&metric)) return kinds_->count(*kind);
  return std::get<trace::MissMetric>(metric).value(caches_);
}

std::size_t Attributed::slot_of(std::uint32_t instruction, std::uint32_t object) {
  const auto [at, added] =
      slot_numbers_.try_emplace(std::uint64_t{instruction} << 32 | object, slots_.size());
  if (added) slots_.push_back({instruction, object});
  return at->second;
}

std::int64_t* Attributed::counts_of(std::size_t number, std::size_t part) {
  const std::size_t events = last_.size(), row = events * parts();
  if ((number + 1) * row > counts_.size())
    counts_.resize((data_ ? slots_.size() : run_->blocks.instruction_count()) * row);
  return counts_.data() + number * row + part * events;
}

void Attributed::attribute(std::uint32_t number, std::uint64_t address) {
  constexpr std::uint32_t unknown = 1;
  constexpr std::size_t most_unplaced = 1 << 16;
  const std::uint32_t instruction = run_->blocks.instruction_of(number);
  const std::uint32_t object = data_ ? data_->access(address) + 1 : 0;
  misses_ = caches_.first_misses();
  if (data_ && kinds_) pad(address);
  std::int64_t* const counts = counts_of(data_ ? slot_of(instruction, object) : instruction, *part_);
  const bool unplaced = object == unknown && unplaced_.size() < most_unplaced;
  if (unplaced) unplaced_.push_back({address, instruction, *part_, last_});
  for (std::size_t e = 0; e < last_.size(); ++e) {
    const std::int64_t now = value(e);
    counts[e] += now - last_[e];
    if (unplaced) unplaced_.back().counts[e] = now - last_[e];
    last_[e] = now;
  }
}

// After access() of the data.
void Attributed::pad(std::uint64_t address) {
  const std::int64_t conflicts = kinds_->count(trace::MissKinds::conflict);
  const bool conflict = conflicts != conflicts_;
  conflicts_ = conflicts;
  const auto bounds = data_->rows();
  if (!conflict || !bounds) return;
  if (const auto row = kinds_->pad(bounds->first, bounds->second, address)) data_->set_row(*row);
}

void Attributed::place_in(const std::optional<trace::MemoryMap::Region>& block) {
  for (const Unplaced& miss : unplaced_) {
    if (!block || miss.address < block->start || miss.address >= block->end) continue;
    const std::size_t from = slot_of(miss.instruction, 1);
    const std::size_t to = slot_of(miss.instruction, data_->access(miss.address) + 1);
    for (std::size_t e = 0; e < last_.size(); ++e) {
      counts_of(from, miss.part)[e] -= miss.counts[e];
      counts_of(to, miss.part)[e] += miss.counts[e];
    }
  }
  unplaced_.clear();
}

} // namespace recount::profile
