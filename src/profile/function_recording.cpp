#include "profile/function_recording.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "command/output.hpp"
#include "profile/calls.hpp"
#include "profile/located.hpp"
#include "profile/recording.hpp"
#include "profile/sites.hpp"

#include <recount/error.hpp>
#include <recount/sampling.hpp>

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <ranges>

namespace recount::profile {
namespace {
using Now = std::chrono::steady_clock;

constexpr std::size_t most_functions = 64;
constexpr std::size_t in_a_group = 4; ///< functions: a hit reads all of its group's counters and probes

#if defined(__x86_64__)
constexpr std::uint64_t stack_register = std::uint64_t{1} << 7U; // PERF_REG_X86_SP
constexpr std::uint64_t return_address = 8;                      // pushed by the call, popped by the return
#elif defined(__aarch64__)
constexpr std::uint64_t stack_register = std::uint64_t{1} << 31U; // PERF_REG_ARM64_SP
constexpr std::uint64_t return_address = 0;
#else
constexpr std::uint64_t stack_register = 0;
constexpr std::uint64_t return_address = 0;
#endif

/// The meaning of a probe hit.
struct ProbeRole {
  std::size_t function = 0; ///< of those in its group
  bool leaves = false;      ///< at an exit or a return; else at the entry
  bool returned = false;    ///< the return address has been popped from the stack
};

/// Some functions, and the kernel group of their counters and probes.
class FunctionGroup {
public:
  /// `events`: the counters, the migrations, then those of the roles.
  FunctionGroup(std::span<FunctionCalls> functions, std::vector<SampledEvent> events,
                const SamplingOptions& options, std::vector<ProbeRole> roles)
      : functions_(functions),
        roles_(std::move(roles)),
        counters_(events.size() - roles_.size() - 1),
        sampling_(std::move(events), options) {}

  Sampling& sampling() { return sampling_; }
  void read() { sampling_.read(sink()); }
  void finish() {
    sampling_.finish(sink());
    for (FunctionCalls& f : functions_)
      f.seen.finish();
    const SamplingReport report = sampling_.report();
    for (std::size_t r = 0; r < roles_.size(); ++r)
      if (!roles_[r].leaves)
        functions_[roles_[r].function].calls = report.events[counters_ + 1 + r].occurrences;
  }
  [[nodiscard]] std::uint64_t forks() const noexcept { return forks_; }

private:
  Sampling::Sink sink() {
    return [this](const Record& record) { take(record); };
  }
  void take(const Record& record) {
    if (const auto* sample = std::get_if<Sample>(&record)) return take(*sample);
    if (std::holds_alternative<Loss>(record))
      for (FunctionCalls& f : functions_)
        f.seen.forget();
    if (const auto* end = std::get_if<End>(&record)) end_thread(end->tid);
    if (const auto* name = std::get_if<Name>(&record); name && name->exec) end_thread(name->tid);
    forks_ += std::holds_alternative<Fork>(record) ? 1U : 0U;
  }
  void take(const Sample& sample) {
    if (sample.event <= counters_) return;
    const ProbeRole& role = roles_[sample.event - counters_ - 1];
    CallHit hit;
    hit.returns = role.leaves;
    hit.tid = sample.tid;
    hit.cpu = sample.cpu;
    hit.time = sample.time;
    hit.stack =
        sample.user_registers.empty() ? 0 : sample.user_registers[0] + (role.returned ? 0 : return_address);
    hit.migrations = sample.values[counters_];
    hit.values = sample.values.first(counters_);
    functions_[role.function].seen.add(hit);
  }
  void end_thread(std::uint32_t tid) {
    for (FunctionCalls& f : functions_)
      f.seen.end_thread(tid);
  }

  std::span<FunctionCalls> functions_;
  std::vector<ProbeRole> roles_; ///< of the events behind the counters and the migrations
  std::size_t counters_;
  std::uint64_t forks_ = 0;
  Sampling sampling_;
};

SamplingOptions function_options(pid_t pid, bool inherit) {
  SamplingOptions options;
  options.pid = pid;
  options.inherit = inherit;
  options.follow = true;
  options.group = true;
  options.user_registers = stack_register;
  return options;
}

/// All open events of the target.
struct Open {
  ProbeEvents probes; ///< outlives the groups
  std::vector<std::unique_ptr<FunctionGroup>> groups;
};

void open_groups(Open& open, FunctionRecording& made, const Sites& sites, pid_t pid, Domain domain) {
  std::vector<SampledEvent> counters;
  for (const auto& name : made.counters)
    counters.push_back({encode(name, domain)});
  counters.push_back({encode("perf::CPU-MIGRATIONS", domain)});
  for (std::size_t from = 0; from < sites.all.size(); from += in_a_group) {
    const std::size_t size = std::min(in_a_group, sites.all.size() - from);
    std::vector<SampledEvent> events = counters;
    std::vector<ProbeRole> roles;
    const auto probe = [&](const Site& site, std::uint64_t offset, const ProbeRole& role) {
      events.push_back({open.probes.at(site, offset, role.returned), 1});
      roles.push_back(role);
    };
    for (std::size_t f = 0; f < size; ++f) {
      const Site& site = sites.all[from + f];
      probe(site, site.offset, {f, false, false});
      if (!made.functions[from + f].returns) continue;
      for (const std::uint64_t offset : site.exits.value_or(std::vector<std::uint64_t>()))
        probe(site, offset, {f, true, false});
      if (!site.exits) probe(site, site.offset, {f, true, true});
    }
    open.groups.push_back(
        std::make_unique<FunctionGroup>(std::span(made.functions).subspan(from, size), std::move(events),
                                        function_options(pid, open.probes.inheritable()), std::move(roles)));
  }
}

/// Of this thread: concurrent threads are not part of the overhead.
double processor_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Measures the probes in this thread, in groups of the same size as those of the target: each hit reads its
/// whole group.
void calibrate(FunctionRecording& made, const Sites& sites, Domain domain) {
  constexpr int calls = 100;
  const Calibration code(sites.all);
  if (code.sites().all.empty()) return;
  FunctionRecording trial = made;
  try {
    Open open;
    open_groups(open, trial, code.sites(), 0, domain);
    for (const auto& group : open.groups)
      group->sampling().start();
    std::vector<double> took;
    for (std::size_t f = 0; f < sites.all.size(); ++f) {
      const double begin = processor_ns();
      for (int i = 0; i < calls; ++i)
        code.call(f);
      took.push_back((processor_ns() - begin) / calls);
      open.groups[f / in_a_group]->read();
    }
    for (const auto& group : open.groups) {
      group->sampling().stop();
      group->finish();
    }
    for (std::size_t f = 0; f < took.size(); ++f)
      made.functions[f].cost =
          ProbeCost{trial.functions[f].seen.wall, trial.functions[f].seen.spreads, took[f]};
  } catch (const Error& error) { // the counts do not depend on it
    made.notes.push_back("the cost of probes is unknown: " + error.problem().cause);
  }
}

void look_on(Open& open, Target& target) {
  for (bool going = true; going && !target.over();) {
    std::vector<pollfd> polled;
    for (const auto& group : open.groups)
      for (const int fd : group->sampling().descriptors())
        polled.push_back({fd, POLLIN, 0});
    ::poll(polled.data(), polled.size(), 100);
    going = false;
    for (const auto& group : open.groups) {
      going = group->sampling().wait(std::chrono::milliseconds(0)) || going;
      group->read();
    }
  }
}

void conclude(FunctionRecording& made, Open& open) {
  std::uint64_t forks = 0;
  for (const auto& group : open.groups) {
    group->finish();
    const SamplingReport report = group->sampling().report();
    made.complete = made.complete && report.complete();
    made.reader_ns += report.reader_ns;
    forks = std::max(forks, group->forks());
  }
  if (!open.probes.inheritable() && forks > 0)
    made.notes.push_back(base::format_count(forks, "thread or process started during the measurement is",
                                            "threads or processes started during the measurement are") +
                         " not counted: without a tracefs, probes are not inherited");
  for (const FunctionCalls& f : made.functions)
    if (process::shell_status(made.exit) == 128 + SIGABRT && f.replaced && f.seen.unreturned > 0)
      made.notes.push_back(
          f.name +
          ": the command was aborted in it. A C++ exception cannot propagate through a function whose "
          "return address is replaced; use --calls");
}
} // namespace

std::uint64_t probe_limit(const Spread& cost) {
  return std::max(cost.quantile(0.5) * 3 / 2, cost.quantile(0.9));
}

FunctionRecording record_functions(const FunctionSettings& settings) {
  if (settings.who.pids.size() > 1)
    throw bad_input("--function", "counts calls in one process only", "name one process with -p");
  Target target(settings.who, true);
  Sites sites = find_sites(target.pid(), settings.names, settings.debug_path, most_functions);
  FunctionRecording made;
  made.counters = settings.returns ? settings.counters : std::vector<std::string>();
  made.notes = sites.notes;
  Open open;
  for (Site& site : sites.all) {
    if (settings.uretprobe && !site.moving_stack) site.exits.reset();
    FunctionCalls f{site.function.name, site.module, Calls(made.counters.size(), open.probes.inheritable())};
    f.returns = settings.returns && stack_register != 0 && (site.exits || !site.moving_stack);
    f.replaced = f.returns && !site.exits;
    f.requested = settings.uretprobe;
    made.functions.push_back(std::move(f));
  }
  const Domain domain = may_sample_kernel() ? Domain::all : Domain::user;
  calibrate(made, sites, domain);
  open_groups(open, made, sites, target.pid(), domain);
  for (const auto& group : open.groups)
    group->sampling().start();
  const auto begin = Now::now();
  target.go();
  look_on(open, target);
  for (const auto& group : open.groups)
    group->sampling().stop();
  made.seconds = std::chrono::duration<double>(Now::now() - begin).count();
  made.exit = target.end();
  conclude(made, open);
  return made;
}

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
        std::string(f.requested
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
