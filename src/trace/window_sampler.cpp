#include "trace/window_sampler.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <numeric>

namespace recount::trace {

WindowSampler::WindowSampler(std::int64_t every, const model::Hierarchy& caches)
    : every_(every),
      warm_(std::min(model::SampledReplay::most_warm_up, every - 1)),
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
