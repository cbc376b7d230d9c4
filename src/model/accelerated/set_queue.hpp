// The sets of a level that are still to be simulated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

namespace recount::model {

/// Hands out sets, and predicts whether all of them together take less time than they are worth. Thread-safe.
class SetQueue {
public:
  /// For `threads` threads. `before` nanoseconds of processor time were spent before; all may take `worth` of
  /// them.
  SetQueue(std::size_t sets, std::size_t threads, double before, double worth)
      : sets_(sets), threads_(threads), before_(before), worth_(worth) {}

  /// The number of the next set; none left, or given up: the number of sets.
  std::size_t next() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return given_up_ || next_ == sets_ ? sets_ : next_++;
  }
  /// One more set took so many nanoseconds. False when the rest does not pay.
  bool done(double took) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_;
    spent_ += took;
    // The first sets meet everything for the first time, each thread's very first one most of all, and a
    // single one may be slow by chance: neither the last one nor their mean alone tells of those to come.
    const double now = before_ + spent_, each = std::min(took, spent_ / static_cast<double>(done_));
    if (done_ > threads_ && done_ < sets_ && now > 1e8 && spent_ > worth_ / 8 &&
        now + each * static_cast<double>(sets_ - done_) > worth_)
      given_up_ = true;
    return !given_up_;
  }
  /// False if already given up.
  bool give_up() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !std::exchange(given_up_, true);
  }
  [[nodiscard]] bool given_up() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return given_up_;
  }
  /// The share of the sets that is done.
  [[nodiscard]] double share() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<double>(done_) / static_cast<double>(sets_);
  }

private:
  std::mutex mutex_;
  std::size_t sets_, threads_, next_ = 0, done_ = 0;
  double before_, worth_, spent_ = 0;
  bool given_up_ = false;
};

} // namespace recount::model
