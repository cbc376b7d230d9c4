// The recent history of a watch, as kept by a viewer.
#pragma once

#include "watch/message.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace recount::watch {

/// The most recent intervals and section marks. Pure; memory is bounded.
class Trace {
public:
  explicit Trace(std::size_t most = 3600) : most_(most) {}
  /// False for invalid messages: an interval whose number of values differs from that of the series, or one
  /// before the hello.
  bool add(const Message& message);

  [[nodiscard]] const std::optional<Hello>& hello() const noexcept { return hello_; }
  [[nodiscard]] const std::deque<Interval>& intervals() const noexcept { return intervals_; }
  [[nodiscard]] std::uint64_t number_of_intervals() const noexcept { return number_; } ///< all so far
  [[nodiscard]] const std::deque<Section>& sections() const noexcept { return sections_; }
  [[nodiscard]] const std::optional<End>& end() const noexcept { return end_; }
  /// The current sections of the program, outermost first.
  [[nodiscard]] const std::vector<std::string>& open() const noexcept { return open_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint64_t dropped_by_program() const noexcept { return dropped_by_program_; }

  /// Over all intervals so far, not only the stored ones.
  struct Sum {
    std::uint64_t counted = 0; ///< intervals with a value
    double weighted = 0, seconds = 0, least = 0, greatest = 0;
    double share = 1; ///< scheduled share of the time: minimum over intervals
    [[nodiscard]] double mean() const { return seconds > 0 ? weighted / seconds : 0; } ///< by time
  };
  [[nodiscard]] const std::vector<Sum>& sums() const noexcept { return sums_; }

private:
  bool take(const Hello& hello);
  bool take(const Interval& interval);
  bool take(const Section& section);
  bool take(const Dropped& dropped);
  bool take(const End& end);

  std::size_t most_;
  std::optional<Hello> hello_;
  std::deque<Interval> intervals_;
  std::deque<Section> sections_;
  std::vector<std::string> open_;
  std::vector<Sum> sums_;
  std::optional<End> end_;
  std::uint64_t number_ = 0, dropped_ = 0, dropped_by_program_ = 0;
};

} // namespace recount::watch
