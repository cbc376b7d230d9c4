// The messages of a watch, one JSON line each; recount-watch(1) documents them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace recount::watch {

inline constexpr const char* protocol = "recount-watch/1";
inline constexpr std::size_t longest_line = 64 << 10; ///< bytes accepted of a line
inline constexpr std::size_t most_series = 64;

/// One watched rate.
struct Series {
  std::string name;      ///< "page-faults", "ipc"
  std::string unit;      ///< "/s", "CPUs", "instructions/cycle"
  std::string refused;   ///< why it has no values; empty: has values
  std::string mark = {}; ///< what recount check found wrong with it
};
/// The first line: the watched program, and the series of values.
struct Hello {
  std::string subject; ///< the command, or the process
  std::int64_t interval_ms = 0;
  std::vector<Series> series;
};
/// One interval.
struct Interval {
  std::int64_t number = 0;
  double begin = 0, end = 0;                 ///< seconds since the start of the watch
  std::vector<std::optional<double>> values; ///< in the order of the series; none: not counted
  /// Scheduled share of the time per series, if multiplexed (values are then scaled). Empty: 1 for all.
  std::vector<double> shares = {};
};
/// A section mark of the program.
struct Section {
  enum class Edge { begin, end, mark } edge = Edge::mark;
  double time = 0; ///< seconds since the start of the watch
  std::string name;
};
/// Number of lines dropped for a slow viewer, or of marks dropped by the program.
struct Dropped {
  std::uint64_t lines = 0;
  bool by_program = false;
};
/// The last line.
struct End {
  std::optional<int> status; ///< of the command, as a shell reports it
  std::string reason;        ///< "the command ended"
};
using Message = std::variant<Hello, Interval, Section, Dropped, End>;

/// One JSON object, without the line end.
[[nodiscard]] std::string to_line(const Message& message);
/// Nothing if the line is invalid or exceeds a limit: peers are not trusted.
[[nodiscard]] std::optional<Message> parse_line(std::string_view line);

} // namespace recount::watch
