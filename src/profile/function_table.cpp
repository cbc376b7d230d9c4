#include "base/characters.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "command/output.hpp"
#include "profile/function_recording.hpp"
#include "profile/located.hpp"

#include <fmt/format.h>

namespace recount::profile {
using profile::FunctionCalls;
using profile::FunctionRecording;
using profile::Spread;

namespace {
/// Limitations of the counts, one line each.
std::vector<std::string> warnings(const FunctionCalls& f) {
  std::vector<std::string> lines;
  const auto tell = [&](std::uint64_t number, const char* one, const char* several = nullptr) {
    if (number > 0) lines.push_back(base::format_count(number, one, several ? several : one));
  };
  const auto& seen = f.seen;
  if (seen.entries < f.calls)
    lines.push_back(
        fmt::format("the records of {} were lost", base::format_count(f.calls - seen.entries, "call")));
  if (!f.returns) return lines;
  tell(seen.unreturned, "without a return: left by longjmp or an exception, or still running at the end");
  if (f.replaced)
    lines.push_back(
        std::string(f.asked
                        ? "its return address is replaced (--uretprobe)"
                        : "its exits cannot be determined from its code, so its return address is replaced") +
        ": exceptions must not propagate through it, and Linux follows at most 64 nested calls");
  tell(seen.stray, "return without an entry: of a child forked during the call, or of a call begun earlier",
       "returns without an entry: of a child forked during the call, or of a call begun earlier");
  tell(seen.migrated, "migrated to another CPU during the call: no counts");
  tell(seen.recursive, "recursive call: the totals include it once",
       "recursive calls: the totals include them once");
  tell(seen.forgotten, "with unknown end, because records were lost");
  return lines;
}

std::string amount(double value) {
  return value < 1e6 ? fmt::format("{:.6g}", value) : fmt::format("{:.0f}", value);
}

/// Values up to `limit` are probe overhead.
void add_row(command::Table& table, const std::string& name, double total, const Spread& spread,
             std::uint64_t limit = 0) {
  const auto cell = [limit](double value, double calls) {
    const double below = static_cast<double>(limit) * calls;
    return limit > 0 && value <= below ? "<" + amount(below) : amount(value);
  };
  std::vector<std::string> row{name, cell(total, static_cast<double>(spread.count()))};
  if (spread.count() > 0)
    for (const double value :
         {spread.mean(), static_cast<double>(spread.least()), static_cast<double>(spread.quantile(0.5)),
          static_cast<double>(spread.quantile(0.9)), static_cast<double>(spread.greatest())})
      row.push_back(cell(value, 1));
  table.add(std::move(row));
}

std::uint64_t limit_of(const std::optional<profile::ProbeCost>& cost) {
  return cost ? profile::probe_limit(cost->wall) : 0;
}
std::uint64_t limit_of(const std::optional<profile::ProbeCost>& cost, std::size_t counter) {
  return cost && counter < cost->counters.size() ? profile::probe_limit(cost->counters[counter]) : 0;
}
/// Whether the median call took no longer than the probes.
bool below_cost(const FunctionCalls& f) {
  return f.seen.wall.count() > 0 && f.seen.wall.quantile(0.5) <= limit_of(f.cost);
}
/// Time of the program spent in probes, in ns.
double time_of_probes(const FunctionRecording& recording) {
  double ns = 0;
  for (const FunctionCalls& f : recording.functions)
    if (f.cost) ns += f.cost->call_ns * static_cast<double>(f.calls);
  return ns;
}

command::Table function_table(const FunctionRecording& recording, const FunctionCalls& f) {
  using enum command::Table::Align;
  command::Table table({{"per call"},
                        {"total", right, 1},
                        {"mean", right, 3},
                        {"least", right, 5},
                        {"median", right},
                        {"90 %", right, 4},
                        {"greatest", right, 2}},
                       base::printable(f.name));
  add_row(table, "  wall time (ns)", static_cast<double>(f.seen.total_wall), f.seen.wall, limit_of(f.cost));
  for (std::size_t c = 0; c < recording.counters.size(); ++c)
    add_row(table, "  " + recording.counters[c], static_cast<double>(f.seen.totals[c]), f.seen.spreads[c],
            limit_of(f.cost, c));
  if (f.cost)
    add_row(table, "  probe cost (ns)", f.cost->wall.mean() * static_cast<double>(f.seen.completed),
            f.cost->wall);
  return table;
}

bool has_table(const FunctionCalls& f) {
  return f.returns && f.seen.completed > 0;
}

std::string one_function(const FunctionRecording& recording, const FunctionCalls& f) {
  std::string text =
      fmt::format("\n{} ({}): {}", base::printable(f.name), base::printable(profile::short_path(f.module)),
                  base::format_count(f.calls, "call"));
  text += f.returns && f.seen.completed != f.calls ? fmt::format(", {} returned\n", f.seen.completed) : "\n";
  for (const auto& warning : warnings(f))
    text += "  " + warning + "\n";
  if (!has_table(f)) return text;
  text += function_table(recording, f).text();
  if (below_cost(f)) text += "  wall time: below the probe cost; use --calls, or sample cpu-clock for time\n";
  return text;
}

Json spread_json(std::uint64_t total, const Spread& spread) {
  Json json{{"total", total}, {"calls", spread.count()}};
  if (spread.count() == 0) return json;
  json["mean"] = spread.mean();
  json["least"] = spread.least();
  json["median"] = spread.quantile(0.5);
  json["p90"] = spread.quantile(0.9);
  json["p99"] = spread.quantile(0.99);
  json["greatest"] = spread.greatest();
  return json;
}

Json function_json(const FunctionRecording& recording, const FunctionCalls& f) {
  Json json{{"function", f.name}, {"module", f.module}, {"calls", f.calls}};
  if (f.returns) {
    json["completed"] = f.seen.completed;
    json["unreturned"] = f.seen.unreturned;
    json["stray_returns"] = f.seen.stray;
    json["migrated"] = f.seen.migrated;
    json["recursive"] = f.seen.recursive;
    json["wall_ns"] = spread_json(f.seen.total_wall, f.seen.wall);
    for (std::size_t c = 0; c < recording.counters.size(); ++c)
      json["counters"][recording.counters[c]] = spread_json(f.seen.totals[c], f.seen.spreads[c]);
  }
  if (f.cost) {
    json["probe_cost"] = {{"median_ns", f.cost->wall.quantile(0.5)},
                          {"limit_ns", limit_of(f.cost)},
                          {"call_ns", f.cost->call_ns}};
    if (f.returns) json["below_probe_cost"] = below_cost(f);
  }
  json["flags"] = warnings(f);
  return json;
}
} // namespace

std::vector<command::Table> function_tables(const FunctionRecording& recording) {
  std::vector<command::Table> tables;
  for (const auto& f : recording.functions)
    if (has_table(f)) tables.push_back(function_table(recording, f));
  return tables;
}

std::string functions_text(const FunctionRecording& recording, const std::string& subject) {
  std::string text = fmt::format("functions of {}: {:.3g} s{}\n", base::printable(subject), recording.seconds,
                                 ending_text(recording.exit));
  const double probes = time_of_probes(recording);
  text += fmt::format("  cost of reading: {:.3g} ms of processor time\n",
                      static_cast<double>(recording.reader_ns) / 1e6);
  text +=
      probes > 0
          ? fmt::format("  cost of probes: about {:.3g} ms, included in the times\n", probes / 1e6)
          : std::string("  cost of probes: not measured; some microseconds per hit, included in the times\n");
  if (!recording.complete) text += "  incomplete: records were lost; the numbers of calls are exact\n";
  for (const auto& note : recording.notes)
    text += "  " + base::printable(note) + "\n";
  for (const auto& f : recording.functions)
    text += one_function(recording, f);
  return text;
}

std::string functions_json(const FunctionRecording& recording, const std::string& subject) {
  Json json{{"subject", subject},
            {"seconds", recording.seconds},
            {"status", process::shell_status(recording.exit)},
            {"complete", recording.complete && !killed(recording.exit)}};
  json["cost"] = {{"reader_ns", recording.reader_ns}, {"probes_ns", time_of_probes(recording)}};
  Json& functions = json["functions"] = Json::array();
  for (const auto& f : recording.functions)
    functions.push_back(function_json(recording, f));
  json["notes"] = recording.notes;
  return json_text("functions", json);
}

} // namespace recount::profile
