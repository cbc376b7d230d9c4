// The messages of a watch, one JSON line each; recount-watch(1) documents them.
#pragma once

#include <recount/reason.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace recount::watch {

inline constexpr const char* protocol = "recount-watch/1";
inline constexpr std::size_t longest_line = 64 << 10; ///< bytes accepted of a line
inline constexpr std::size_t max_series = 64;

/// One watched rate.
struct Series {
  std::string name; ///< "page-faults", "ipc"
  std::string unit; ///< "/s", "CPUs", "instructions/cycle"
  Reason refused;   ///< why it has no values; empty: it has
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
/// In the order of Section::Edge.
inline constexpr std::string_view edge_names[] = {"begin", "end", "mark"};

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

/// Assembles the lines of an untrusted peer. Memory is bounded by the longest line; a longer or invalid line
/// ends the connection.
class LineReader {
public:
  enum class State { open, closed, invalid };
  using Sink = std::function<void(const Message&)>;
  /// Reads available bytes without blocking and passes each message to `sink`.
  State read(int fd, const Sink& sink);
  /// The same for given bytes. Pure.
  State feed(std::string_view bytes, const Sink& sink);

private:
  std::string line_;
};

/// Parses section marks of a program (recount/sections.h), one or more lines. Times are seconds since
/// `begin_ns` of the monotonic clock; `now_ns` is the default. Invalid lines are ignored. Pure.
void parse_sections(std::string_view text, std::uint64_t begin_ns, std::uint64_t now_ns,
                    const LineReader::Sink& sink);

/// The history of a watch, as kept by a viewer: the most recent intervals and section marks. Pure; memory is
/// bounded.
class Trace {
public:
  explicit Trace(std::size_t most = 3600) : most_(most) {}
  /// False for invalid messages: an interval whose number of values differs from that of the series, or one
  /// before the hello.
  bool add(const Message& message);
  bool add(const Hello& hello);
  bool add(const Interval& interval);
  bool add(const Section& section);
  bool add(const Dropped& dropped);
  bool add(const End& end);

  [[nodiscard]] const std::optional<Hello>& hello() const noexcept { return hello_; }
  [[nodiscard]] const std::deque<Interval>& intervals() const noexcept { return intervals_; }
  [[nodiscard]] std::uint64_t number_of_intervals() const noexcept { return number_; } ///< including dropped
  [[nodiscard]] const std::deque<Section>& sections() const noexcept { return sections_; }
  [[nodiscard]] const std::optional<End>& end() const noexcept { return end_; }
  /// The current sections of the program, outermost first.
  [[nodiscard]] const std::vector<std::string>& open() const noexcept { return open_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint64_t dropped_by_program() const noexcept { return dropped_by_program_; }

  /// Over all intervals so far, not only the stored ones.
  struct Sum {
    std::uint64_t counted = 0; ///< intervals with a value
    double weighted = 0, seconds = 0, minimum = 0, maximum = 0;
    double share = 1; ///< scheduled share of the time: minimum over intervals
    [[nodiscard]] double mean() const { return seconds > 0 ? weighted / seconds : 0; } ///< by time
  };
  [[nodiscard]] const std::vector<Sum>& sums() const noexcept { return sums_; }

private:
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
