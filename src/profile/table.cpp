#include "base/characters.hpp"
#include "base/format.hpp"
#include "command/output.hpp"
#include "command/verdicts.hpp"
#include "profile/modelled.hpp"
#include "profile/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::profile {
using profile::By;
using profile::ProfileRow;
using profile::Tally;

namespace {
constexpr std::size_t most_of_narrow = 32; ///< columns of a name where lines are short
constexpr std::uint64_t few = 10;          ///< samples; with fewer, only the interval is printed

/// Digits supported by the interval.
std::string percent(double share, double width) {
  const int digits = width >= 0.02 ? 0 : width >= 0.002 ? 1 : 2;
  return fmt::format("{:.{}f}", 100 * share, digits);
}

std::string unit_text(const SampledEvent& event, double amount) {
  if (!profile::is_clock(event.event)) return base::format_count(std::llrint(amount), "occurrence");
  return amount >= 1e9 ? fmt::format("{:.3g} s", amount / 1e9) : fmt::format("{:.3g} ms", amount / 1e6);
}

std::string function_cell(const ProfileRow& row) {
  if (!row.function.empty()) return base::printable(row.function) + (row.inlined ? " (inlined)" : "");
  return row.address != 0 ? fmt::format("{:#x}", row.address) : "?";
}

std::string place_cell(const ProfileRow& row, By by) {
  if (by == By::address) return fmt::format("{:#x}", row.address);
  if (by == By::line || by == By::line_object)
    return row.source.empty() ? fmt::format("{:#x}", row.address) : base::printable(row.source);
  return {};
}

/// Head of the columns of `by`, after those of the events.
std::vector<std::string> heads(By by) {
  switch (by) {
  case By::module: return {"module"};
  case By::symbol: return {"symbol", "module"};
  case By::function: return {"function", "module"};
  case By::line: return {"line", "function", "module"};
  case By::object: return {"object", "size", "offsets", "module"};
  case By::line_object: return {"line", "object", "function", "module"};
  case By::address: break;
  }
  return {"address", "instruction", "line", "function", "module"};
}

/// Name, size, offsets of the accesses, module.
std::vector<std::string> object_cells(const ProfileRow& row) {
  if (!row.object) return {"not recorded", "", "", ""};
  const NamedObject& object = *row.object;
  std::string size = object.bytes > 0 ? base::format_bytes(static_cast<std::int64_t>(object.bytes)) : "";
  if (object.blocks > 1) size += fmt::format(" in {} blocks", object.blocks);
  return {command::shortened(base::printable(object.name), 70), size,
          object.low <= object.high ? fmt::format("{}…{}", object.low, object.high) : "",
          base::printable(profile::short_path(object.module))};
}

std::vector<std::string> cells(const ProfileRow& row, By by) {
  const std::string module = base::printable(profile::short_path(row.module));
  const std::string function = command::shortened(function_cell(row), 50);
  switch (by) {
  case By::module: return {base::printable(row.module)};
  case By::symbol:
  case By::function: return {command::shortened(function_cell(row), 70), module};
  case By::line: return {place_cell(row, by), function, module};
  case By::object: return object_cells(row);
  case By::line_object: return {place_cell(row, by), object_cells(row).front(), function, module};
  case By::address: break;
  }
  return {place_cell(row, by), row.instruction, base::printable(row.source), function, module};
}

std::string rest_text(const Profile& p, const std::vector<ProfileRow>& rows, std::size_t top) {
  std::vector<std::string> parts;
  for (const std::size_t e : shown_events(p)) {
    double weight = 0;
    for (std::size_t i = top; i < rows.size(); ++i)
      weight += static_cast<double>(rows[i].tallies[e].weight);
    const auto all = static_cast<double>(p.recording.places.total(e).weight);
    parts.push_back(fmt::format("{:.2g} %", all > 0 ? 100 * weight / all : 0));
  }
  return fmt::format("  … {} more, {} in all (--top)\n", rows.size() - top, fmt::join(parts, " and "));
}

/// The scheduled share of the time. The event is open on each CPU, and enabled on all of them
/// while the target runs on one.
double time_on_pmu(const Profile& p, std::size_t e) {
  const auto& count = p.recording.report.events[e];
  const auto type = p.recording.events[e].event.attr.type;
  if (type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_BREAKPOINT || count.enabled_ns == 0) return 1;
  const auto cpus = static_cast<double>(std::max<std::size_t>(p.recording.report.rings, 1));
  return std::min(1.0, static_cast<double>(count.running_ns) * cpus / static_cast<double>(count.enabled_ns));
}

std::string event_line(const Profile& p, std::size_t e) {
  const auto& event = p.recording.events[e];
  const auto& count = p.recording.report.events[e];
  if (!p.recording.not_counted.empty())
    return fmt::format("  not counted: {}: {}", event.event.name, p.recording.not_counted);
  if (modelled_event(event.event.name))
    return fmt::format("  {}: {}, modelled{}", event.event.name,
                       base::format_count(count.occurrences, "occurrence"),
                       p.recording.sampled.empty() ? "" : ", " + p.recording.sampled[e]);
  std::string text = fmt::format("  {}: {}", event.event.name, base::format_count(count.samples, "sample"));
  if (event.frequency != 0)
    text += fmt::format(" (about {} per second)", event.frequency);
  else if (event.period == 1)
    text += ", one per occurrence";
  else
    text += ", each of " + unit_text(event, static_cast<double>(event.period));
  text += ", " + unit_text(event, static_cast<double>(count.occurrences)) + " counted";
  text += count.lost ? fmt::format(", {} lost", *count.lost) : ", lost: not reported by this kernel";
  if (count.throttled > 0) text += ", throttled " + base::format_count(count.throttled, "time");
  if (const double on = time_on_pmu(p, e); on < 0.995)
    text += fmt::format(", scheduled {:.0f} % of the time", 100 * on);
  if (const std::string mark = mark_of(p, e); !mark.empty()) text += " " + command::in_parentheses(mark);
  return text;
}
/// What sampling cost.
std::string cost_text(const Profile& p, std::size_t columns) {
  const auto& report = p.recording.report;
  const double cost = static_cast<double>(report.reader_ns) / 1e9;
  std::uint64_t samples = 0;
  for (const auto& count : report.events)
    samples += count.samples + count.lost.value_or(0);
  return command::fit(
             fmt::format("  cost of reading: {:.3g} ms of processor time ({:.2g} %), {}, {} of ring buffers",
                         cost * 1e3, p.recording.seconds > 0 ? 100 * cost / p.recording.seconds : 0,
                         base::format_count(report.records, "record"),
                         base::format_bytes(static_cast<std::int64_t>(report.rings * report.ring_bytes))),
             columns, 4) +
         "\n" +
         command::fit("  not measured: run time of " + base::format_count(samples, "sampling interrupt"),
                      columns, 4) +
         "\n";
}
} // namespace

std::string mark_of(const Profile& p, std::size_t event) {
  const Event& its = p.recording.events[event].event;
  return p.marks.of(its.name, std::span(&its, 1));
}

bool every_occurrence(const Profile& p, std::size_t event) {
  const auto& count = p.recording.report.events[event];
  return p.recording.events[event].period == 1 && count.samples == count.occurrences;
}

std::vector<std::size_t> shown_events(const Profile& p) {
  std::vector<std::size_t> shown;
  for (std::size_t e = 0; e < p.recording.events.size(); ++e)
    if (!only_advises(p.recording.events[e].event.name)) shown.push_back(e);
  return shown;
}

std::string share_text(const profile::Share& share, std::uint64_t samples) {
  if (samples == 0 && (share.exact || share.high >= 1)) return "0";
  const double span = share.high - share.low;
  if (share.exact) return percent(share.value, 0.005) + " %";
  const std::string interval =
      fmt::format("{}…{}", percent(share.low, span / 4), percent(share.high, span / 4));
  if (samples < few) return interval + " %";
  return fmt::format("{} % ({})", percent(share.value, span / 2), interval);
}

std::string ending_text(const process::Exit& exit) {
  if (exit.ok()) return {};
  return (killed(exit) ? ", incomplete: " : ", ") + process::describe(exit);
}

std::string profile_summary(const Profile& p) {
  const auto& report = p.recording.report;
  const std::size_t columns = command::line_width(stderr);
  std::string text = command::fit(fmt::format("profile of {}: {:.3g} s{}", base::printable(p.subject),
                                              p.recording.seconds, ending_text(p.recording.exit)),
                                  columns, 2) +
                     "\n";
  for (const std::size_t e : shown_events(p))
    text += command::fit(event_line(p, e), columns, 4) + "\n";
  if (report.rings > 0) text += cost_text(p, columns);
  if (!report.complete())
    text += fmt::format(
        "  incomplete: {} lost{}, {} damaged\n", base::format_count(report.lost_records, "record"),
        report.full > 0 ? ", a ring buffer was full " + base::format_count(report.full, "time") : "",
        report.damaged);
  for (const auto& note : p.recording.notes)
    text += "  " + command::wrap(base::printable(note), columns, 4) + "\n";
  for (const auto& note : p.naming.notes)
    text += "  " + command::wrap(base::printable(note), columns, 4) + "\n";
  return text;
}

command::Table profile_table(const Profile& p, By by, std::size_t top) {
  const auto rows = profile::gather(p.recording.places, p.naming, by);
  std::vector<command::Table::Column> columns;
  const auto shown = shown_events(p);
  for (const std::size_t e : shown) {
    const auto& event = p.recording.events[e];
    const std::string& name = event.event.name;
    columns.push_back({p.recording.events.size() > 1 ? name : "share", command::Table::Align::right, 0,
                       p.recording.events.size() > 1 ? name.substr(name.rfind(':') + 1) : ""});
    columns.push_back(
        {modelled_event(event.event.name) ? "count" : "samples", command::Table::Align::right, 4});
  }
  for (const auto& head : heads(by)) // of the module and of objects, names are enough
    columns.push_back({head, command::Table::Align::left,
                       head == "module" && by != By::module       ? 3
                       : head == "offsets" || head == "size"      ? 2
                       : head == "function" && by != By::function ? 1
                                                                  : 0});
  command::Table table(columns, fmt::format("by {}", name_of(by)));
  for (std::size_t i = 0; i < std::min(top, rows.size()); ++i) {
    std::vector<std::string> line, narrow;
    for (const std::size_t e : shown) {
      const Tally& tally = rows[i].tallies[e];
      line.push_back(
          share_text(profile::share_of(tally, p.recording.places, e, every_occurrence(p, e)), tally.samples));
      const bool modelled = modelled_event(p.recording.events[e].event.name).has_value();
      line.push_back(std::to_string(modelled ? tally.weight : tally.samples));
    }
    narrow.resize(line.size());
    for (auto& cell : cells(rows[i], by)) {
      narrow.push_back(command::shortened(cell, most_of_narrow));
      line.push_back(std::move(cell));
    }
    table.add(std::move(line), std::move(narrow));
  }
  return table;
}

std::string profile_text(const Profile& p, By by, std::size_t top, std::FILE* stream) {
  const auto rows = profile::gather(p.recording.places, p.naming, by);
  const command::Table table = profile_table(p, by, top);
  std::string text =
      command::paint(command::Style::strong, table.title(), stream) + "\n" + table.text(stream);
  if (rows.size() > top) text += rest_text(p, rows, top);
  return text;
}

} // namespace recount::profile
