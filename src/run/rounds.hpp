// Rounds of what is compared, repeated until they decide or a budget is used up.
#pragma once

#include "base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace recount::stat {

constexpr double longest_undecided = 300; ///< seconds

/// Seconds from the first run on in which further ones may end while a comparison is undecided: three times
/// those that were announced.
[[nodiscard]] inline double until_decided(double announced) {
  return 3 * announced;
}

/// Whether another round follows, and what they take. `fixed`: their number; 0: until they decide. Pure.
class Rounds {
public:
  explicit Rounds(long fixed) : fixed_(fixed) {}
  [[nodiscard]] long planned() const { return fixed_ > 0 ? fixed_ : 10; } ///< announced
  [[nodiscard]] long done() const { return done_; }
  [[nodiscard]] bool go_on() const {
    if (fixed_ > 0) return done_ < fixed_;
    // Of five, noise separates two sides in 1 of 900 cases; of three long ones, in 1 of 50.
    if (done_ < 5) return done_ < 3 || spent_ < longest_undecided;
    return !decided_ && spent_ + mean() <= budget();
  }
  /// A round took so long. `decided`: the rounds so far decide what is compared. Returns what to announce:
  /// the estimate, its correction, and that more rounds than announced follow; empty: nothing.
  [[nodiscard]] std::string add(double seconds, bool decided) {
    ++done_;
    spent_ += seconds;
    decided_ = decided;
    const double before = announced_;
    const bool wrong = done_ <= planned() && (mean() > 1.5 * before || mean() < before / 2);
    if (wrong) announced_ = mean();
    if (std::max(before, mean()) * static_cast<double>(planned()) < worth_announcing || !go_on()) return {};
    if (wrong)
      return fmt::format("about {} for {} rounds{}{}", text(all()), planned(),
                         fixed_ > 0 ? "" : ", at most " + text(budget()) + " until they decide",
                         done_ == 1 ? "" : " (corrected)");
    return done_ == planned()
               ? fmt::format("not decided after {} rounds: up to {} more (-r fixes their number)", done_,
                             text(budget() - spent_))
               : "";
  }

private:
  static constexpr double worth_announcing = 5; // seconds
  [[nodiscard]] double mean() const { return spent_ / static_cast<double>(done_); }
  [[nodiscard]] double all() const { return announced_ * static_cast<double>(planned()); }
  [[nodiscard]] double budget() const { return std::min(longest_undecided, until_decided(all())); }
  [[nodiscard]] static std::string text(double seconds) {
    return base::format_duration(std::chrono::duration<double>(seconds));
  }
  long fixed_, done_ = 0;
  double spent_ = 0, announced_ = 0; // seconds, and those of a round
  bool decided_ = false;
};

} // namespace recount::stat
