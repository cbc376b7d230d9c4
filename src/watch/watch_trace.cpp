#include "watch/watch_trace.hpp"

#include <algorithm>

namespace recount::watch {
namespace {
constexpr std::size_t most_open = 64; ///< sections within one another
}

bool Trace::add(const Message& message) {
  return std::visit([this](const auto& m) { return take(m); }, message);
}

bool Trace::take(const Hello& hello) {
  if (hello_) return false;
  hello_ = hello;
  sums_.resize(hello.series.size());
  return true;
}

bool Trace::take(const Interval& interval) {
  if (!hello_ || interval.values.size() != hello_->series.size()) return false;
  if (!interval.shares.empty() && interval.shares.size() != interval.values.size()) return false;
  const double seconds = interval.end - interval.begin;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (!interval.values[i]) continue;
    Sum& sum = sums_[i];
    const double value = *interval.values[i];
    sum.least = sum.counted == 0 ? value : std::min(sum.least, value);
    sum.greatest = sum.counted == 0 ? value : std::max(sum.greatest, value);
    ++sum.counted;
    sum.weighted += value * seconds;
    sum.seconds += seconds;
    if (!interval.shares.empty()) sum.share = std::min(sum.share, interval.shares[i]);
  }
  ++number_;
  intervals_.push_back(interval);
  if (intervals_.size() > most_) intervals_.pop_front();
  return true;
}

bool Trace::take(const Section& section) {
  if (!hello_) return false;
  if (section.edge == Section::Edge::begin && open_.size() < most_open) open_.push_back(section.name);
  if (section.edge == Section::Edge::end) {
    const auto last = std::find(open_.rbegin(), open_.rend(), section.name);
    if (last != open_.rend()) open_.erase(std::next(last).base());
  }
  sections_.push_back(section);
  if (sections_.size() > most_) sections_.pop_front();
  return true;
}

bool Trace::take(const Dropped& dropped) {
  (dropped.by_program ? dropped_by_program_ : dropped_) += dropped.lines;
  return true;
}

bool Trace::take(const End& end) {
  end_ = end;
  return true;
}

} // namespace recount::watch
