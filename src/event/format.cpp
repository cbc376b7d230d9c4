#include "event/format.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>

namespace recount::event {
namespace {

Format::Range parse_range(std::string_view text, const std::string& subject) {
  const auto dash = text.find('-');
  const auto first = base::parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : base::parse_number(text.substr(dash + 1));
  if (!first || !last || *last > 63 || *first > *last)
    throw bad_input(subject, fmt::format("sysfs gives an invalid bit range \"{}\"", text));
  return {static_cast<unsigned>(*first), static_cast<unsigned>(*last)};
}

/// (1 << bits) - 1 without shifting by the whole width.
std::uint64_t ones(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

} // namespace

unsigned Format::width() const {
  unsigned bits = 0;
  for (const Range& range : ranges)
    bits += range.last - range.first + 1;
  return bits;
}

Format parse_format(std::string_view text, const std::string& subject) {
  const auto colon = text.find(':');
  const auto word = text.substr(0, colon);
  Format format;
  if (colon == std::string_view::npos || !word.starts_with("config"))
    throw bad_input(subject, fmt::format("sysfs gives an invalid format \"{}\"", text));
  if (word == "config1")
    format.word = 1;
  else if (word == "config2")
    format.word = 2;
  else if (word != "config")
    throw unavailable(subject, fmt::format("uses perf_event_attr.{}, which this build does not know", word));
  for (const auto part : base::split(text.substr(colon + 1), ','))
    format.ranges.push_back(parse_range(part, subject));
  return format;
}

void store(const Format& format, std::uint64_t value, perf_event_attr& attr, const std::string& subject) {
  if (value > ones(format.width()))
    throw bad_input(
        subject, fmt::format("{:#x} does not fit into {}", value, base::format_count(format.width(), "bit")));
  std::uint64_t word = format.word == 0 ? attr.config : format.word == 1 ? attr.config1 : attr.config2;
  for (const Format::Range& range : format.ranges) {
    const unsigned bits = range.last - range.first + 1;
    word &= ~(ones(bits) << range.first);
    word |= (value & ones(bits)) << range.first;
    value = bits >= 64 ? 0 : value >> bits;
  }
  if (format.word == 0)
    attr.config = word;
  else if (format.word == 1)
    attr.config1 = word;
  else
    attr.config2 = word;
}

} // namespace recount::event
