#include <recount/error.hpp>
#include <recount/simple.hpp>

#include <algorithm>

namespace recount::simple {
namespace {

std::optional<double> per_second(const Value& value, double seconds) {
  if (!value.count || seconds <= 0) return {};
  return static_cast<double>(*value.count) / seconds;
}

/// Two intervals of one event, with their lengths in seconds.
void add(Value& to, double seconds, const Value& other, double other_seconds) {
  if (to.count && other.count) {
    *to.count += *other.count;
    const double all = seconds + other_seconds;
    if (all > 0) to.share = (to.share * seconds + other.share * other_seconds) / all;
    return;
  }
  if (to.count) to.reason = other.reason;
  to.count.reset();
  to.share = 0;
}

} // namespace

const Value& Reading::operator[](const std::string& event) const {
  const auto it =
      std::find_if(values.begin(), values.end(), [&](const Value& value) { return value.event == event; });
  if (it == values.end())
    throw bad_input(event, "is not an event of this meter", "pass it to the constructor of the meter");
  return *it;
}

std::optional<double> Reading::rate(const std::string& event) const {
  return per_second((*this)[event], real_seconds);
}

std::optional<double> Reading::processor_rate(const std::string& event) const {
  return per_second((*this)[event], processor_seconds);
}

Reading& Reading::operator+=(const Reading& other) {
  if (values.empty()) return *this = other;
  const bool same = std::equal(values.begin(), values.end(), other.values.begin(), other.values.end(),
                               [](const Value& a, const Value& b) { return a.event == b.event; });
  if (!same)
    throw bad_input("reading", "two readings of different events cannot be added",
                    "add readings of one meter");
  for (std::size_t i = 0; i < values.size(); ++i)
    add(values[i], real_seconds, other.values[i], other.real_seconds);
  real_seconds += other.real_seconds;
  processor_seconds += other.processor_seconds;
  return *this;
}

} // namespace recount::simple
