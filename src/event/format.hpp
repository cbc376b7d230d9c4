// The format files of sysfs: which bits of perf_event_attr a term fills.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recount::event {

/// Bits of one configuration word, e.g. "config:0-7,32-35": the low 8 bits of a value, then the next 4.
struct Format {
  struct Range {
    unsigned first, last; ///< bits, inclusive
  };
  unsigned word = 0; ///< 0: config, 1: config1, 2: config2
  std::vector<Range> ranges;
  [[nodiscard]] unsigned width() const; ///< bits in all
};

/// Parses a format file (Documentation/ABI/testing/sysfs-bus-event_source-devices-format of Linux). `subject`
/// names the term in errors. Throws Error: bad_input when malformed, unavailable for a word that the
/// perf_event_attr of this build does not have. Pure.
[[nodiscard]] Format parse_format(std::string_view text, const std::string& subject);

/// Stores a value in its bits. Throws Error (bad_input) when it has too many bits.
void store(const Format& format, std::uint64_t value, perf_event_attr& attr, const std::string& subject);

} // namespace recount::event
