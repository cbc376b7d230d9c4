#include "commands/profile/function_recording.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "commands/profile/profile_report.hpp"

#include <fmt/format.h>

namespace recount::profile {
namespace {
/// Limitations of the counts, one line each.
std::vector<std::string> warnings(const FunctionCalls& f) {
  const Calls& seen = f.seen;
  std::vector<std::string> lines;
  if (seen.entries < f.calls)
    lines.push_back("the records of " + base::format_count(f.calls - seen.entries, "call") + " were lost");
  if (!f.returns) return lines;
  if (f.replaced)
    lines.push_back(
        std::string(f.requested
                        ? "its return address is replaced (--uretprobe)"
                        : "its exits cannot be determined from its code, so its return address is replaced") +
        ": exceptions must not propagate through it, and Linux follows at most 64 nested calls");
  const struct {
    std::uint64_t number;
    const char *one, *several;
    const char* meaning;
  } kinds[] = {
      {seen.unreturned, "call", "calls",
       " without a return: left by longjmp or an exception, or still running at the end"},
      {seen.stray, "return", "returns",
       " without an entry: of a child forked during the call, or of a call begun earlier"},
      {seen.migrated, "call", "calls", " migrated to another CPU: no counts"},
      {seen.recursive, "recursive call", "recursive calls", ": counted once in the totals"},
      {seen.forgotten, "call", "calls", " with unknown end, because records were lost"},
  };
  for (const auto& kind : kinds)
    if (kind.number > 0)
      lines.push_back(base::format_count(kind.number, kind.one, kind.several) + kind.meaning);
  return lines;
}

std::string amount(double value) {
  return value < 1e6 ? fmt::format("{:.6g}", value) : fmt::format("{:.0f}", value);
}

/// `datum`: function, quantity, unit and witness. Values up to `limit` per call are probe overhead.
void add_row(show::Table& table, show::Datum datum, double total, const Histogram& values,
             std::uint64_t limit = 0) {
  datum.repetitions = values.count();
  std::vector<std::string> row{"  " + datum.quantity + (datum.unit.empty() ? "" : " (" + datum.unit + ")")};
  const auto add = [&](const char* statistic, double value, std::size_t calls) {
    const double probes = static_cast<double>(limit) * static_cast<double>(calls);
    const bool hidden = limit > 0 && value <= probes;
    row.push_back(hidden ? "<" + amount(probes) : amount(value));
    datum.reason = hidden ? "not above the cost of the probes, " + amount(probes) : "";
    table.add_data({datum.with(statistic, value)});
  };
  add("total", total, values.count());
  if (values.count() > 0) {
    add("mean per call", values.mean(), 1);
    add("minimum per call", static_cast<double>(values.minimum()), 1);
    add("median per call", static_cast<double>(values.quantile(0.5)), 1);
    add("90 % quantile per call", static_cast<double>(values.quantile(0.9)), 1);
    add("maximum per call", static_cast<double>(values.maximum()), 1);
  }
  table.add(std::move(row));
}

std::uint64_t wall_limit(const FunctionCalls& f) {
  return f.cost ? probe_limit(f.cost->wall) : 0;
}
/// Whether the median call took no longer than the probes.
bool below_cost(const FunctionCalls& f) {
  return f.seen.wall.count() > 0 && f.seen.wall.quantile(0.5) <= wall_limit(f);
}
/// Time of the program spent in probes, in ns.
double time_of_probes(const FunctionRecording& recording) {
  double ns = 0;
  for (const FunctionCalls& f : recording.functions)
    if (f.cost) ns += f.cost->call_ns * static_cast<double>(f.calls);
  return ns;
}

show::Table function_table(const FunctionRecording& recording, const FunctionCalls& f) {
  using enum show::Role;
  show::Table table({{"per call"},
                     {"total", number, 1},
                     {"mean", number, 3},
                     {"least", number, 5},
                     {"median", number},
                     {"90 %", number, 4},
                     {"greatest", number, 2}},
                    base::printable(f.name));
  const show::Datum time{
      .keys = {{"function", f.name}}, .quantity = "wall time", .unit = "ns", .witness = "clock"};
  add_row(table, time, static_cast<double>(f.seen.total_wall), f.seen.wall, wall_limit(f));
  for (std::size_t c = 0; c < recording.counters.size(); ++c)
    add_row(table, {.keys = time.keys, .quantity = recording.counters[c], .witness = "perf"},
            static_cast<double>(f.seen.totals[c]), f.seen.counts[c],
            f.cost ? probe_limit(f.cost->counters.at(c)) : 0);
  if (f.cost) {
    show::Datum probe = time;
    probe.quantity = "probe cost";
    add_row(table, std::move(probe), f.cost->wall.mean() * static_cast<double>(f.seen.completed),
            f.cost->wall);
  }
  return table;
}

bool has_table(const FunctionCalls& f) {
  return f.returns && f.seen.completed > 0;
}

std::string function_text(const FunctionRecording& recording, const FunctionCalls& f) {
  std::string text = fmt::format("\n{} ({}): {}", base::printable(f.name),
                                 base::printable(short_path(f.module)), base::format_count(f.calls, "call"));
  text += f.returns && f.seen.completed != f.calls ? fmt::format(", {} returned\n", f.seen.completed) : "\n";
  for (const auto& warning : warnings(f))
    text += "  " + warning + "\n";
  if (!has_table(f)) return text;
  text += command::table_text(function_table(recording, f));
  if (below_cost(f)) text += "  wall time: below the probe cost; use --calls, or sample cpu-clock for time\n";
  return text;
}

Json histogram_json(std::uint64_t total, const Histogram& values) {
  Json json{{"total", total}, {"calls", values.count()}};
  if (values.count() > 0)
    json.update({{"mean", values.mean()},
                 {"least", values.minimum()},
                 {"median", values.quantile(0.5)},
                 {"p90", values.quantile(0.9)},
                 {"p99", values.quantile(0.99)},
                 {"greatest", values.maximum()}});
  return json;
}

Json function_json(const FunctionRecording& recording, const FunctionCalls& f) {
  Json json{{"function", f.name}, {"module", f.module}, {"calls", f.calls}};
  if (f.returns) {
    json.update({{"completed", f.seen.completed},
                 {"unreturned", f.seen.unreturned},
                 {"stray_returns", f.seen.stray},
                 {"migrated", f.seen.migrated},
                 {"recursive", f.seen.recursive},
                 {"wall_ns", histogram_json(f.seen.total_wall, f.seen.wall)}});
    for (std::size_t c = 0; c < recording.counters.size(); ++c)
      json["counters"][recording.counters[c]] = histogram_json(f.seen.totals[c], f.seen.counts[c]);
  }
  if (f.cost) {
    json["probe_cost"] = {
        {"median_ns", f.cost->wall.quantile(0.5)}, {"limit_ns", wall_limit(f)}, {"call_ns", f.cost->call_ns}};
    if (f.returns) json["below_probe_cost"] = below_cost(f);
  }
  json["flags"] = warnings(f);
  return json;
}
} // namespace

std::vector<show::Table> function_tables(const FunctionRecording& recording) {
  std::vector<show::Table> tables;
  for (const auto& f : recording.functions)
    if (has_table(f)) tables.push_back(function_table(recording, f));
  return tables;
}

std::string functions_text(const FunctionRecording& recording, const std::string& subject) {
  const double probes = time_of_probes(recording);
  std::string text = fmt::format(
      "functions of {}: {:.3g} s{}\n  cost of reading: {:.3g} ms of processor time\n  cost of probes: {}\n",
      base::printable(subject), recording.seconds, ending_text(recording.exit),
      static_cast<double>(recording.reader_ns) / 1e6,
      probes > 0 ? fmt::format("about {:.3g} ms, included in the times", probes / 1e6)
                 : "not measured; some microseconds per hit, included in the times");
  if (!recording.complete) text += "  incomplete: records were lost; the numbers of calls are exact\n";
  for (const auto& note : recording.notes)
    text += "  " + base::printable(note) + "\n";
  for (const auto& f : recording.functions)
    text += function_text(recording, f);
  return text;
}

std::string functions_json(const FunctionRecording& recording, const std::string& subject) {
  Json json{{"subject", subject},
            {"seconds", recording.seconds},
            {"status", process::shell_status(recording.exit)},
            {"complete", recording.complete && !killed(recording.exit)},
            {"cost", {{"reader_ns", recording.reader_ns}, {"probes_ns", time_of_probes(recording)}}},
            {"functions", Json::array()}};
  for (const auto& f : recording.functions)
    json["functions"].push_back(function_json(recording, f));
  json["notes"] = recording.notes;
  return json_text("functions", json);
}

} // namespace recount::profile
