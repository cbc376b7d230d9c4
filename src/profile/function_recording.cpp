#include "profile/function_recording.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "profile/profile_report.hpp"
#include "profile/sites.hpp"

#include <recount/error.hpp>
#include <recount/sampling.hpp>

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <span>

namespace recount::profile {
namespace {
constexpr std::size_t most_functions = 64;
constexpr std::size_t functions_per_group = 4;

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

/// Some functions, and the kernel group of their counters and probes: each hit reads the whole group.
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
    if (const auto* sample = std::get_if<Sample>(&record)) return take_hit(*sample);
    forks_ += std::holds_alternative<Fork>(record) ? 1U : 0U;
    const auto* const end = std::get_if<End>(&record);
    const auto* const name = std::get_if<Name>(&record);
    for (FunctionCalls& f : functions_) {
      if (std::holds_alternative<Loss>(record)) f.seen.forget();
      if (end) f.seen.end_thread(end->tid);
      if (name && name->exec) f.seen.end_thread(name->tid);
    }
  }
  void take_hit(const Sample& sample) {
    if (sample.event <= counters_) return;
    const ProbeRole& role = roles_[sample.event - counters_ - 1];
    const std::uint64_t stack =
        sample.user_registers.empty() ? 0 : sample.user_registers[0] + (role.returned ? 0 : return_address);
    functions_[role.function].seen.add({role.leaves, sample.tid, sample.cpu, sample.time, stack,
                                        sample.values[counters_], sample.values.first(counters_)});
  }

  std::span<FunctionCalls> functions_;
  std::vector<ProbeRole> roles_; ///< of the events behind the counters and the migrations
  std::size_t counters_;
  std::uint64_t forks_ = 0;
  Sampling sampling_;
};

SamplingOptions function_options(pid_t pid, bool inherit) {
  return {.pid = pid, .inherit = inherit, .follow = true, .group = true, .user_registers = stack_register};
}

/// All open events of the target.
struct OpenGroups {
  ProbeEvents probes; ///< outlives the groups
  std::vector<std::unique_ptr<FunctionGroup>> groups;

  void start() {
    for (const auto& group : groups)
      group->sampling().start();
  }
  void stop() {
    for (const auto& group : groups)
      group->sampling().stop();
  }
};

void open_groups(OpenGroups& open, FunctionRecording& recording, const Sites& sites, pid_t pid,
                 Domain domain) {
  std::vector<SampledEvent> counters;
  for (const auto& name : recording.counters)
    counters.push_back({encode(name, domain)});
  counters.push_back({encode("perf::CPU-MIGRATIONS", domain)});
  for (std::size_t from = 0; from < sites.all.size(); from += functions_per_group) {
    const auto functions = std::span(recording.functions)
                               .subspan(from)
                               .first(std::min(functions_per_group, sites.all.size() - from));
    std::vector<SampledEvent> events = counters;
    std::vector<ProbeRole> roles;
    const auto probe = [&](std::uint64_t offset, const ProbeRole& role) {
      events.push_back({open.probes.at(sites.all[from + role.function], offset, role.returned), 1});
      roles.push_back(role);
    };
    for (std::size_t f = 0; f < functions.size(); ++f) {
      const Site& site = sites.all[from + f];
      probe(site.offset, {f, false, false});
      if (!functions[f].returns) continue;
      for (const std::uint64_t offset : site.exits.value_or(std::vector<std::uint64_t>()))
        probe(offset, {f, true, false});
      if (!site.exits) probe(site.offset, {f, true, true});
    }
    open.groups.push_back(std::make_unique<FunctionGroup>(
        functions, std::move(events), function_options(pid, open.probes.inheritable()), std::move(roles)));
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
void calibrate(FunctionRecording& recording, const Sites& sites, Domain domain) {
  constexpr int calls = 100;
  const Calibration code(sites.all);
  if (code.sites().all.empty()) return;
  FunctionRecording trial = recording;
  try {
    OpenGroups open;
    open_groups(open, trial, code.sites(), 0, domain);
    open.start();
    std::vector<double> durations;
    for (std::size_t f = 0; f < sites.all.size(); ++f) {
      const double begin = processor_ns();
      for (int i = 0; i < calls; ++i)
        code.call(f);
      durations.push_back((processor_ns() - begin) / calls);
      open.groups[f / functions_per_group]->read();
    }
    open.stop();
    for (const auto& group : open.groups)
      group->finish();
    for (std::size_t f = 0; f < durations.size(); ++f)
      recording.functions[f].cost =
          ProbeCost{trial.functions[f].seen.wall, trial.functions[f].seen.counts, durations[f]};
  } catch (const Error& error) { // the counts do not depend on it
    recording.notes.push_back("the cost of probes is unknown: " + error.problem().cause);
  }
}

void read_until_end(OpenGroups& open, Target& target) {
  for (bool running = true; running && !target.over();) {
    std::vector<pollfd> polled;
    for (const auto& group : open.groups)
      for (const int fd : group->sampling().descriptors())
        polled.push_back({fd, POLLIN, 0});
    ::poll(polled.data(), polled.size(), 100);
    running = false;
    for (const auto& group : open.groups) {
      running = group->sampling().wait(std::chrono::milliseconds(0)) || running;
      group->read();
    }
  }
}

void conclude(FunctionRecording& recording, OpenGroups& open) {
  std::uint64_t forks = 0;
  for (const auto& group : open.groups) {
    group->finish();
    const SamplingReport report = group->sampling().report();
    recording.complete = recording.complete && report.complete();
    recording.reader_ns += report.reader_ns;
    forks = std::max(forks, group->forks());
  }
  if (!open.probes.inheritable() && forks > 0)
    recording.notes.push_back(base::format_count(forks, "thread or process started during the measurement is",
                                                 "threads or processes started during the measurement are") +
                              " not counted: without a tracefs, probes are not inherited");
  for (const FunctionCalls& f : recording.functions)
    if (process::shell_status(recording.exit) == 128 + SIGABRT && f.replaced && f.seen.unreturned > 0)
      recording.notes.push_back(
          f.name + ": the command was aborted in it. A C++ exception cannot propagate through a function "
                   "whose return address is replaced; use --calls");
}
} // namespace

std::uint64_t probe_limit(const Histogram& cost) {
  return std::max(cost.quantile(0.5) * 3 / 2, cost.quantile(0.9));
}

FunctionRecording record_functions(const FunctionSettings& settings) {
  using Clock = std::chrono::steady_clock;
  if (settings.who.pids.size() > 1)
    throw bad_input("--function", "counts calls in one process only", "name one process with -p");
  Target target(settings.who, true);
  Sites sites = find_sites(target.pid(), settings.names, settings.debug_path, most_functions);
  FunctionRecording recording;
  if (settings.returns) recording.counters = settings.counters;
  recording.notes = sites.notes;
  OpenGroups open;
  for (Site& site : sites.all) {
    if (settings.uretprobe && !site.moving_stack) site.exits.reset();
    FunctionCalls f{site.function.name, site.module,
                    Calls(recording.counters.size(), open.probes.inheritable())};
    f.returns = settings.returns && stack_register != 0 && (site.exits || !site.moving_stack);
    f.replaced = f.returns && !site.exits;
    f.requested = settings.uretprobe;
    recording.functions.push_back(std::move(f));
  }
  const Domain domain = permitted_domain();
  calibrate(recording, sites, domain);
  open_groups(open, recording, sites, target.pid(), domain);
  open.start();
  const auto begin = Clock::now();
  target.go();
  read_until_end(open, target);
  open.stop();
  recording.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  recording.exit = target.end();
  conclude(recording, open);
  return recording;
}

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

/// Values up to `limit` per call are probe overhead.
void add_row(command::Table& table, const std::string& name, double total, const Histogram& values,
             std::uint64_t limit = 0) {
  const auto cell = [limit](double value, double calls) {
    const double below = static_cast<double>(limit) * calls;
    return limit > 0 && value <= below ? "<" + amount(below) : amount(value);
  };
  std::vector<std::string> row{name, cell(total, static_cast<double>(values.count()))};
  if (values.count() > 0) {
    row.push_back(cell(values.mean(), 1));
    for (const auto value : {values.minimum(), values.quantile(0.5), values.quantile(0.9), values.maximum()})
      row.push_back(cell(static_cast<double>(value), 1));
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
  add_row(table, "  wall time (ns)", static_cast<double>(f.seen.total_wall), f.seen.wall, wall_limit(f));
  for (std::size_t c = 0; c < recording.counters.size(); ++c)
    add_row(table, "  " + recording.counters[c], static_cast<double>(f.seen.totals[c]), f.seen.counts[c],
            f.cost ? probe_limit(f.cost->counters.at(c)) : 0);
  if (f.cost)
    add_row(table, "  probe cost (ns)", f.cost->wall.mean() * static_cast<double>(f.seen.completed),
            f.cost->wall);
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
  text += function_table(recording, f).text();
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

std::vector<command::Table> function_tables(const FunctionRecording& recording) {
  std::vector<command::Table> tables;
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
