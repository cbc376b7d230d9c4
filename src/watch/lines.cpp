#include "watch/lines.hpp"

#include "base/characters.hpp"
#include "base/format.hpp"
#include "command/output.hpp"
#include "command/verdicts.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <map>
#include <poll.h>
#include <unistd.h>

namespace recount::watch {
namespace {
constexpr int lines_between_heads = 40;
constexpr std::size_t narrowest = 12;

/// Of columns only those that can have values.
std::vector<std::size_t> columns_of(const watch::Hello& hello) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < hello.series.size(); ++i)
    if (hello.series[i].refused.empty()) columns.push_back(i);
  return columns;
}

std::string column_head(const watch::Series& series) {
  return fmt::format("{} ({})", base::printable(series.name), base::printable(series.unit));
}

std::string right_aligned(const std::string& text, std::size_t columns) {
  return std::string(columns > command::width(text) ? columns - command::width(text) : 0, ' ') + text;
}

std::string heads(const watch::Hello& hello) {
  std::string line = fmt::format("{:>10}", "s");
  for (const std::size_t i : columns_of(hello))
    line += "  " + right_aligned(column_head(hello.series[i]), narrowest);
  return line + "\n";
}

std::string row(const watch::Interval& interval, const watch::Hello& hello) {
  std::string line = fmt::format("{:>10.3f}", interval.end);
  for (const std::size_t i : columns_of(hello)) {
    const auto& value = interval.values[i];
    line += "  " + right_aligned(value ? fmt::format("{:.5g}", *value) : "-",
                                 std::max(narrowest, command::width(column_head(hello.series[i]))));
  }
  return line + "\n";
}

/// What a reader of a mean must know.
std::string doubts(const watch::Trace::Sum& sum, std::uint64_t intervals) {
  std::string text;
  if (sum.share < 1) text = fmt::format("counted {:.1f} % of the time at least", 100 * sum.share);
  if (intervals > sum.counted)
    text += fmt::format("{}{} of {} without a value", text.empty() ? "" : ", ", intervals - sum.counted,
                        base::format_count(intervals, "interval"));
  return text;
}

std::string hello_lines(const watch::Hello& hello) {
  std::string text =
      fmt::format("watching {}, every {} ms\n", base::printable(hello.subject), hello.interval_ms);
  for (const auto& series : hello.series)
    if (!series.mark.empty())
      text += fmt::format("  {}: {}\n", base::printable(series.name), base::printable(series.mark));
  return text;
}

std::string section_line(const watch::Section& section) {
  constexpr const char* edges[] = {"begins", "ends", "mark"};
  return fmt::format("{:>10.3f}  {} {}\n", section.time, base::printable(section.name),
                     edges[static_cast<int>(section.edge)]);
}
} // namespace

std::string watch_line(const watch::Message& message, const watch::Trace& trace, bool head) {
  if (const auto* hello = std::get_if<watch::Hello>(&message)) return hello_lines(*hello);
  if (const auto* section = std::get_if<watch::Section>(&message)) return section_line(*section);
  if (const auto* end = std::get_if<watch::End>(&message)) return base::printable(end->reason) + "\n";
  if (const auto* dropped = std::get_if<watch::Dropped>(&message))
    return fmt::format("{} {}\n", dropped->lines,
                       dropped->by_program ? "marks dropped by the program" : "lines missed");
  if (!trace.hello() || columns_of(*trace.hello()).empty()) return {};
  return (head ? heads(*trace.hello()) : "") + row(std::get<watch::Interval>(message), *trace.hello());
}

command::Table watch_means(const watch::Trace& trace) {
  using Align = command::Table::Align;
  std::vector<command::Table::Column> columns{
      {"series"}, {"mean", Align::right}, {"least", Align::right}, {"greatest", Align::right}, {"unit"},
      {""}};
  const bool marked = trace.hello() && std::ranges::any_of(trace.hello()->series, [](const auto& series) {
                        return !series.mark.empty();
                      });
  if (marked) columns.push_back({"verdict"});
  command::Table table(std::move(columns), "Means over the intervals");
  if (!trace.hello()) return table;
  const auto number = [](double value) { return fmt::format("{:.5g}", value); };
  for (std::size_t i = 0; i < trace.sums().size(); ++i) {
    const auto& series = trace.hello()->series[i];
    const auto& sum = trace.sums()[i];
    if (!series.refused.empty()) continue;
    if (sum.counted == 0) {
      table.add({"  " + base::printable(series.name), "-", "-", "-", base::printable(series.unit),
                 "never counted"});
    } else {
      std::vector<std::string> cells{"  " + base::printable(series.name),
                                     number(sum.mean()),
                                     number(sum.least),
                                     number(sum.greatest),
                                     base::printable(series.unit),
                                     doubts(sum, trace.number_of_intervals())};
      if (marked) cells.push_back(command::in_parentheses(base::printable(series.mark)));
      table.add(std::move(cells));
    }
  }
  return table;
}

std::string watch_summary(const watch::Trace& trace, std::FILE* stream) {
  if (!trace.hello()) return {};
  std::map<std::string, std::string> refused;
  for (const auto& series : trace.hello()->series) {
    if (series.refused.empty()) continue;
    std::string& names = refused[base::printable(command::brief(series.refused))];
    names += (names.empty() ? "" : ", ") + base::printable(series.name);
  }
  const command::Table table = watch_means(trace);
  std::string text = base::printable(trace.hello()->subject) + ": " +
                     base::format_count(trace.number_of_intervals(), "interval");
  if (trace.end()) text += ", " + base::printable(trace.end()->reason);
  text = command::fit(text, command::line_width(stream), 2) + "\n" +
         (table.empty() ? std::string() : table.text(stream));
  for (const auto& [why, names] : refused)
    text += "  " +
            command::wrap(fmt::format("not counted: {}: {}", names, why), command::line_width(stream), 4) +
            "\n";
  if (trace.dropped() > 0)
    text += "  " + base::format_count(trace.dropped(), "line") + " missed: this viewer was too slow\n";
  if (trace.dropped_by_program() > 0)
    text += "  " + base::format_count(trace.dropped_by_program(), "mark") + " dropped by the program\n";
  return text;
}

void WatchLines::add(const watch::Message& message, const watch::Trace& trace) {
  if (json_) return put(watch::to_line(message) + "\n");
  const bool interval = std::holds_alternative<watch::Interval>(message);
  put(watch_line(message, trace, since_head_ == 0));
  if (interval) since_head_ = (since_head_ + 1) % lines_between_heads;
}

void WatchLines::say(const std::string& text) {
  if (!json_) put(text);
}

void WatchLines::put(const std::string& text) {
  if (gone_ || text.empty()) return;
  // POLLOUT on a pipe guarantees a page, which is longer than most lines.
  pollfd writable{fd_, POLLOUT, 0};
  if (::poll(&writable, 1, 0) != 1) {
    ++missed_;
    return;
  }
  std::string all = text;
  if (missed_ > 0)
    all = (json_ ? watch::to_line(watch::Dropped{missed_, false}) + "\n"
                 : watch_line(watch::Dropped{missed_, false}, watch::Trace(), false)) +
          text;
  missed_ = 0;
  all = command::terminal_text(all);
  for (std::string_view rest = all; !rest.empty();) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) { // another process set O_NONBLOCK: the line is cut
      ++missed_;
      return;
    }
    if (n < 0) {
      gone_ = true;
      failure_ = errno == EPIPE || errno == EIO ? 0 : errno;
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

} // namespace recount::watch
