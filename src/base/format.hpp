// Numbers as sentences and tables show them.
#pragma once

#include <string>

namespace recount::analysis {

/// Four significant digits at least, no exponent: "0.1234", "27.11", "30880".
[[nodiscard]] std::string show_number(double value);
/// In units of 10^6, without the unit.
[[nodiscard]] std::string show_millions(double value);
/// "98.31 %" of a share.
[[nodiscard]] std::string show_share(double share);
/// Percentage points with a sign: "+1.20", "-0.35".
[[nodiscard]] std::string show_points(double difference);
/// "2.31 times"
[[nodiscard]] std::string show_times(double factor);
/// Seconds with three or four digits: "0.01234", "12.34".
[[nodiscard]] std::string show_seconds(double seconds);
/// "32 KiB"
[[nodiscard]] std::string show_bytes(double bytes);
/// Who says it, for readers: "counted by perf", "published", "modelled (i7-9700)".
[[nodiscard]] std::string show_witness(const std::string& witness);

} // namespace recount::analysis
