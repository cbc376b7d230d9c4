// What a watched program is told of, line by line, to viewers here and elsewhere. recount-watch(1) documents
// the lines.
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

/// One of the rates that are watched.
struct Series {
  std::string name;    ///< "page-faults", "ipc"
  std::string unit;    ///< "/s", "CPUs", "instructions/cycle"
  std::string refused; ///< why it has no values; empty: it has
};
/// The first line: who is watched, and what the values of each interval stand for.
struct Hello {
  std::string subject; ///< the command, or the process
  std::int64_t interval_ms = 0;
  std::vector<Series> series;
};
/// One stretch of time.
struct Interval {
  std::int64_t number = 0;
  double begin = 0, end = 0;                 ///< seconds since the watching began
  std::vector<std::optional<double>> values; ///< in the order of the series; none: not counted
  /// Of the time, how much each was counted, where events took turns: then a value is extrapolated. Empty:
  /// all of it.
  std::vector<double> shares = {};
};
/// The program said where it is.
struct Section {
  enum class Edge { begin, end, mark } edge = Edge::mark;
  double time = 0; ///< seconds since the watching began
  std::string name;
};
/// Lines that a viewer was too slow for, or marks that the program could not get rid of.
struct Dropped {
  std::uint64_t lines = 0;
  bool by_program = false;
};
/// The last line.
struct End {
  std::optional<int> status; ///< of the command, as a shell tells it
  std::string reason;        ///< "the command ended"
};
using Message = std::variant<Hello, Interval, Section, Dropped, End>;

/// One JSON object, without the line end.
[[nodiscard]] std::string to_line(const Message& message);
/// None when it is no such line, or breaks a limit: whatever a peer sends is harmless.
[[nodiscard]] std::optional<Message> parse_line(std::string_view line);

} // namespace recount::watch
