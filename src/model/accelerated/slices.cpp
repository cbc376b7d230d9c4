#include "model/accelerated/slices.hpp"

#include <utility>

namespace recount::model {

void TraceStore::order(std::span<PlacedTrace> in, std::size_t limit) {
  if (sequencer.bytes() > limit / 8) sequencer.forget();
  if (traces.bytes() < limit / 2) sequencer.put(in);
}

bool LevelStage::run(std::size_t set, std::span<const PlacedTrace> in, Hierarchy::State& state) {
  const std::size_t ways = simulator.shape().rules.ways;
  return simulator.run(static_cast<std::int64_t>(set), in,
                       std::span(state).subspan(place.entries + set * ways, ways),
                       place.has_words ? &state[place.words + set] : nullptr);
}

SliceSimulator::SliceSimulator(std::span<const LevelShape> shapes, std::span<const StatePlace> places,
                               std::size_t bytes, std::uint64_t events, const SetTraces& traces)
    : limit_(bytes) {
  for (std::size_t at = 0; at < shapes.size(); ++at) {
    stages_.emplace_back(shapes[at], places[at], LevelLimits{bytes / 8 * 3, events},
                         at == 0 ? traces : store_.traces, store_.traces);
    below_.emplace_back(stages_.back().sets());
  }
}

bool SliceSimulator::run(std::size_t set, std::span<const PlacedTrace> in, Hierarchy::State& state) {
  if (!run(0, set, in, state)) return false;
  // All that is kept may go after each slice: another one meets little of it again, and little memory is
  // looked up sooner.
  if (bytes() - stages_.front().simulator.row_bytes() > limit_ / 256) forget();
  return true;
}

bool SliceSimulator::run(std::size_t at, std::size_t set, std::span<const PlacedTrace> in,
                         Hierarchy::State& state) {
  LevelStage& stage = stages_[at];
  if (!stage.run(set, in, state)) return false;
  if (stage.simulator.shape().below.memory) return true;
  stage.hand_down(set, [&](std::int64_t to, const PlacedTrace& part) {
    below_[at + 1][static_cast<std::size_t>(to)].push_back(part);
  });
  if (bytes() > limit_)
    for (LevelStage& each : stages_)
      each.simulator.forget_rows();
  if (store_.traces.bytes() > limit_ / 8 * 5) return false;
  for (std::size_t next = set; next < below_[at + 1].size(); next += stage.sets()) {
    std::vector<PlacedTrace> asked = std::exchange(below_[at + 1][next], {});
    store_.order(asked, limit_);
    if (!run(at + 1, next, asked, state)) return false;
  }
  return true;
}

void SliceSimulator::forget() {
  for (std::size_t at = 0; at < stages_.size(); ++at) {
    stages_[at].forget();
    if (at > 0 || stages_[at].simulator.row_bytes() > limit_ / 8) stages_[at].simulator.forget_rows();
  }
  store_.sequencer.forget();
  store_.traces.clear();
}

std::size_t SliceSimulator::bytes() const {
  std::size_t sum = store_.traces.bytes() + store_.sequencer.bytes();
  for (const LevelStage& stage : stages_)
    sum += stage.bytes();
  return sum;
}

} // namespace recount::model
