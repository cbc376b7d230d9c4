// Which accesses of a process are simulated where every Nth window is.
#pragma once

#include "model/hierarchy.hpp"
#include "model/sampling.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace recount::trace {

/// The first windows are simulated completely. Of every `every` windows after them one is counted, at a
/// random place, from empty caches that the windows before it warm up. The windows are dealt out to
/// model::Sampling::samples estimates in turn.
class WindowSampler {
public:
  static constexpr std::int64_t window = model::SampledReplay::least_window,
                                complete = model::SampledReplay::most_windows * window;
  /// 0: everything is simulated.
  WindowSampler(std::int64_t every, const model::Hierarchy& caches);

  [[nodiscard]] bool active() const { return every_ > 0; }
  [[nodiscard]] std::int64_t every() const { return every_; }
  /// The next access of the process: whether it is simulated.
  [[nodiscard]] bool take(model::Hierarchy& caches) {
    if (left_ == 0) [[unlikely]]
      advance(caches);
    --left_;
    return phase_ != Phase::skip;
  }
  /// What the accesses of the phase count for: 0, themselves alone; 1 to model::Sampling::samples, this
  /// estimate; nothing, while the caches warm up.
  static constexpr std::size_t parts = 1 + model::Sampling::samples;
  [[nodiscard]] std::optional<std::size_t> part() const {
    if (phase_ == Phase::complete) return 0;
    return phase_ == Phase::count ? std::optional(1 + next_) : std::nullopt;
  }
  /// After finish(), which succeeded: how many occurrences one of a part represents.
  [[nodiscard]] double weight(std::size_t part) const;
  /// Adds the estimates of this process, whose caches count no more. False: too few windows for one.
  [[nodiscard]] bool finish(const model::Hierarchy& caches, model::Sampling& sampling) const;

private:
  enum class Phase { complete, skip, warm_up, count };
  void advance(model::Hierarchy& caches);
  void begin_period(const model::Hierarchy& caches);
  void skip(std::int64_t accesses);
  void begin_count(const model::Hierarchy& caches);
  void end_count(const model::Hierarchy& caches);

  std::int64_t every_, warm_;
  Phase phase_ = Phase::complete;
  std::int64_t left_ = complete;  ///< accesses of the phase
  std::int64_t after_ = 0;        ///< accesses to skip after the counted window
  std::int64_t taken_ = complete; ///< accesses before and within the phase
  std::uint64_t random_;
  model::Counts none_, whole_, before_;
  std::vector<std::int64_t> vacancies_;
  std::array<model::Counts, model::Sampling::samples> sums_;
  std::array<std::int64_t, model::Sampling::samples> windows_{};
  std::vector<double> filled_; ///< places that were empty before counted windows, and not after them
  std::size_t next_ = 0;
};

} // namespace recount::trace
