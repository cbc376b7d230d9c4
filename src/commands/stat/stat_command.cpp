#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/process/fd.hpp"
#include "base/process/waiter.hpp"
#include "base/text.hpp"
#include "commands/stat/second_count.hpp"
#include "commands/stat/stat_compare.hpp"
#include "commands/stat/stat_table.hpp"
#include "kernel/command_line.hpp"
#include "run/modelled.hpp"
#include "run/papi_passes.hpp"
#include "run/rounds.hpp"
#include "run/stat_plan.hpp"
#include "run/stat_run.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <mntent.h>
#include <optional>

// recount stat: counts any program, in any language.
namespace recount::stat {
namespace {

struct StatOptions {
  Request request; ///< as far as options state it
  std::vector<std::string> events, names, metrics, pids, tids, cpus, witnesses;
  std::string cgroup, output, domain, export_to, separator, control, prepare, input;
  long repeat = 0, baseline = 0, interval = 0, delay = -1, timeout = 0; ///< 0, -1: not given
  bool json = false, list = false, all_cpus = false, compare = false, detailed = false, null = false,
       append = false, no_inherit = false, show_output = false, per_core = false, per_thread = false,
       per_cpu = false;
};

bool whole_cpus(const StatOptions& o) {
  return o.all_cpus || !o.cpus.empty() || !o.cgroup.empty();
}

/// The folder of a cgroup: a path, or a name below where Linux has the cgroups that perf events know.
process::Fd open_cgroup(const std::string& name) {
  const auto open = [](const std::string& path) {
    return process::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  };
  if (name.starts_with('/')) {
    if (process::Fd fd = open(name); fd) return fd;
  } else if (const std::unique_ptr<std::FILE, int (*)(std::FILE*)> mounts(
                 ::setmntent("/proc/self/mounts", "re"), ::endmntent);
             mounts) {
    while (const mntent* mount = ::getmntent(mounts.get()))
      if (mount->mnt_type == std::string_view("cgroup2") ||
          (mount->mnt_type == std::string_view("cgroup") && ::hasmntopt(mount, "perf_event") != nullptr))
        if (process::Fd fd = open(mount->mnt_dir + ("/" + name)); fd) return fd;
  }
  throw bad_input("--cgroup " + name, "there is no such cgroup",
                  "systemd-cgls or `find /sys/fs/cgroup -type d` lists them");
}

/// Names of what counts is told apart by; empty: totals only.
std::function<std::string(int)> place_names(const StatOptions& o) {
  const bool threads = !o.pids.empty() || !o.tids.empty();
  if (o.per_core + o.per_cpu + o.per_thread > 1)
    throw bad_input("--per-core", "-A, --per-core and --per-thread exclude one another", "give one of them");
  if ((o.per_core || o.per_cpu) && !whole_cpus(o))
    throw bad_input(o.per_core ? "--per-core" : "--no-aggr", "needs whole CPUs", "add -a or -C LIST");
  if (o.per_thread && !threads)
    throw bad_input("--per-thread", "needs running processes or threads", "add -p PID or -t TID");
  if (o.per_core) return core_name;
  if (o.per_cpu) return [](int cpu) { return fmt::format("CPU{}", cpu); };
  if (!o.per_thread) return {};
  return [](int tid) {
    const auto name = base::read_file(fmt::format("/proc/{}/comm", tid)).value_or("");
    return fmt::format("{}-{}", base::trim(name), tid);
  };
}

void require_subject(const StatOptions& o, const Request& request) {
  if (request.command.empty() && request.pids.empty() && !whole_cpus(o))
    throw bad_input("recount stat", "no command and no process to count",
                    "recount stat -- COMMAND, recount stat -p PID, or recount stat -a");
  if (!request.pids.empty() && whole_cpus(o))
    throw bad_input(request.threads ? "--tid" : "--pid",
                    "counts processes, while -a and -C count whatever runs on CPUs", "omit one of them");
  if (!o.pids.empty() && !o.tids.empty())
    throw bad_input("--tid", "cannot be combined with --pid", "omit one of them");
  if (!request.command.empty()) return;
  if (o.repeat > 1) throw bad_input(fmt::format("--repeat {}", o.repeat), "needs a command to repeat");
  if (request.warm_up > 0)
    throw bad_input(fmt::format("--warm-up {}", request.warm_up), "needs a command to run");
  if (!o.prepare.empty()) throw bad_input("--prepare " + o.prepare, "needs a command to prepare for");
  if (!o.input.empty()) throw bad_input("--input " + o.input, "needs a command that reads it");
}

/// "3 runs of 10 in 2 s, about 5 s left", written over itself, where stderr is a terminal.
std::function<void(int, double)> progress_line(int repeat) {
  if (repeat < 2 || ::isatty(STDERR_FILENO) != 1) return {};
  return [repeat, total = std::chrono::duration<double>(0)](int done, double seconds) mutable {
    total += std::chrono::duration<double>(seconds);
    if (done == repeat) return;
    const std::string text =
        done > repeat ? fmt::format("{} in {}", base::format_count(done, "run"), base::format_duration(total))
                      : fmt::format("{} of {} in {}, about {} left", base::format_count(done, "run"), repeat,
                                    base::format_duration(total),
                                    base::format_duration((repeat - done) * total / done));
    command::print(stderr, "\r{}\033[K", text.substr(0, command::line_width(stderr) - 1));
    command::flush(stderr);
  };
}

/// Removes the line of progress when the runs have ended, in whatever way.
class ProgressEnd {
public:
  explicit ProgressEnd(const Request& request) : shown_(request.progress != nullptr) {}
  ProgressEnd(const ProgressEnd&) = delete;
  ProgressEnd& operator=(const ProgressEnd&) = delete;
  ~ProgressEnd() {
    try {
      if (shown_) command::print(stderr, "\r\033[K");
    } catch (const std::exception&) { // a closed stderr: reported by what is printed next
    }
  }

private:
  bool shown_;
};

/// What holds for every run of a command, of --compare too.
void set_runs(const StatOptions& o, Request& request, int repeat) {
  request.repeat = repeat;
  request.input = process::Input(o.input);
  if (!o.prepare.empty()) request.prepare = kernel::split_words(o.prepare, "--prepare");
  request.silent = (repeat > 1 || request.warm_up > 0) && !o.show_output;
  if (request.silent) request.errors = std::make_shared<ErrorTail>();
  if (o.interval == 0 && request.silent) request.progress = progress_line(repeat);
  if (o.timeout > 0) request.limit = std::chrono::milliseconds(o.timeout);
}

Request make_request(const StatOptions& o) {
  Request request = o.request;
  request.threads = !o.tids.empty();
  request.pids = request.threads ? parse_tids(o.tids) : parse_pids(o.pids);
  require_subject(o, request);
  set_runs(o, request, static_cast<int>(o.repeat > 0 ? o.repeat : 1));
  request.interval = std::chrono::milliseconds(o.interval);
  request.inherit = !o.no_inherit;
  if (o.delay >= 0) request.delay = std::chrono::milliseconds(o.delay);
  request.place_name = place_names(o);
  return request;
}

std::string describe_subject(const Request& request, const std::vector<int>& cpus) {
  if (!cpus.empty())
    return show_cpus(cpus) + (request.command.empty() ? "" : " during " + kernel::quoted(request.command));
  return request.pids.empty() ? kernel::quoted(request.command) : show_pids(request.pids, request.threads);
}

int list_metrics(const StatOptions& o) {
  const auto metrics = metric::load(o.metrics);
  command::TableExport(o.export_to).write("recount stat --list", {metrics_list(metrics)});
  command::print("{}", o.json ? metrics_json(metrics) : metrics_table(metrics));
  return 0;
}

void require_metrics(const std::vector<std::string>& names, const metric::Metrics& metrics) {
  for (const std::string& name : names)
    if (metric::find(metrics, name) == nullptr)
      throw bad_input("-M " + name, "there is no such metric",
                      base::did_you_mean(name,
                                         metrics | ranges::views::transform(&metric::Metric::name) |
                                             ranges::to<std::vector>(),
                                         "recount stat --list lists them"));
}

std::vector<Item> requested_items(const StatOptions& o, Counted what, const metric::Metrics& metrics) {
  if (o.null) {
    if (!o.events.empty() || !o.names.empty() || o.detailed)
      throw bad_input("--null", "counts nothing: cannot be combined with -e, -M or -d", "omit one of them");
    return {};
  }
  const auto names = base::list_words(o.names);
  require_metrics(names, metrics);
  auto lists = o.events;
  lists.insert(lists.end(), names.begin(), names.end());
  if (lists.empty()) lists = default_items(what);
  if (o.detailed)
    for (const std::string& name : detailed_items())
      lists.push_back(name);
  auto items = parse_items(lists);
  if (items.empty()) throw bad_input("--event", "the list is empty");
  return items;
}

int execute_compare(const StatOptions& o) {
  if (!o.pids.empty() || !o.tids.empty() || whole_cpus(o) || o.interval > 0 || !o.output.empty())
    throw bad_input("--compare", "cannot be combined with -p, -t, -a, -C, -I or -o",
                    "remove them; --json has all values");
  if (!o.separator.empty() || !o.control.empty() || o.delay >= 0)
    throw bad_input("--compare", "cannot be combined with -x, -D or --control",
                    "remove them; --json has all values");
  const auto commands = split_commands(o.request.command);
  if (const auto most = static_cast<long>(commands.size()); o.baseline > most)
    throw bad_input(fmt::format("--baseline {}", o.baseline), fmt::format("there are {} commands", most),
                    fmt::format("--baseline 1 to {}", most));
  const auto baseline = static_cast<std::size_t>(std::max(o.baseline, 1L) - 1);
  Rounds rounds(o.repeat);
  std::vector<Request> requests;
  for (const auto& command : commands) {
    Request& request = requests.emplace_back(o.request);
    request.command = command;
    set_runs(o, request, static_cast<int>(rounds.planned()));
    request.inherit = !o.no_inherit;
  }
  const Request& first = requests.front();
  const auto metrics = metric::load(o.metrics);
  Plan plan = make_plan(requested_items(o, Counted::command, metrics), metrics, parse_domain(o.domain), {});
  plan.rates = o.events.empty() && o.names.empty();
  command::require_repeatable("stat", first.input, o.request.command);
  const command::TableExport tables(o.export_to);
  const Results results = [&] {
    const ProgressEnd end(first);
    return run_in_turn(plan, requests, [&](const Results& so_far) {
      const std::string text =
          rounds.add(last_round(so_far), decided(compare_rows(plan, so_far, baseline), !plan.rates));
      if (first.progress) command::print(stderr, "\r\033[K");
      if (!text.empty()) command::note("recount stat: {}\n", text);
      if (first.progress) first.progress(static_cast<int>(rounds.done()), last_round(so_far));
      return rounds.go_on();
    });
  }();
  const auto rows = compare_rows(plan, results, baseline);
  if (o.json)
    command::print("{}", comparison_json(rows, requests, results));
  else
    command::print(stderr, "{}{}", comparison_text(rows, requests, stderr), cut_short_text(results));
  for (std::size_t i = 0; i < results.size(); ++i)
    command::print(stderr, "{}", last_lines_text(results[i], fmt::format("{}: ", i + 1), stderr));
  tables.write("recount stat --compare", {comparison_table(rows)});
  int status = 0;
  for (const RunResult& ended : results) {
    if (ended.error) std::rethrow_exception(ended.error);
    if (status == 0) status = exit_status(ended);
  }
  return status;
}

/// Processes and CPUs are not waited for when nothing of them can be counted.
void require_countable(const Plan& plan, const std::string& subject) {
  const auto refused = [](const PlanRow& row) { return !row.refused.empty(); };
  if (plan.rows.empty() || !std::ranges::all_of(plan.rows, refused)) return;
  Reason why = plan.rows.front().refused;
  why.cause = "no event can be counted: " + command::brief(why);
  throw Error(ErrorKind::unavailable, {subject, why});
}

/// All but perf observe a command from its beginning to its end; some options are for models alone.
void check_witnesses(const StatOptions& o, const Witnesses& witnesses) {
  if (!witnesses.models.empty() || witnesses.papi) {
    const std::string name = witnesses.papi ? "papi" : "model";
    if (!o.pids.empty() || !o.tids.empty() || whole_cpus(o) || o.interval > 0 || o.compare || o.delay >= 0 ||
        !o.control.empty())
      throw bad_input("--witness " + name,
                      std::string(witnesses.papi ? "counts" : "simulates") +
                          " a command from its start to its end: cannot be combined with -p, -t, -a, -C, "
                          "-I, -D, --control or --compare",
                      "recount stat --witness " + name + " -- COMMAND");
  }
  if (!witnesses.models.empty()) return;
  const Request& of = o.request;
  const std::string sample = of.sample > 0 ? std::to_string(of.sample) : "";
  for (const auto& [option, value] :
       {std::pair("--sample-every ", sample), std::pair("--section ", of.section),
        std::pair("--from ", of.from), std::pair("--to ", of.to)})
    if (!value.empty())
      throw bad_input(option + value, "limits what a model simulates", "add --witness model");
}

/// The executions of one repetition.
std::vector<Pass> make_passes(const Plan& plan, const Witnesses& witnesses,
                              const std::vector<PapiNames>& sets, const std::vector<ModelledRows>& models,
                              const Request& request) {
  std::vector<Pass> passes = model_passes(plan, models, request);
  std::vector<Pass> counted;
  if (witnesses.papi)
    counted = papi_passes(plan, sets, witnesses.perf, request);
  else if (witnesses.perf)
    counted.push_back(perf_pass(plan, request));
  passes.insert(passes.begin(), counted.begin(), counted.end());
  return passes;
}

void check_output_options(const StatOptions& o) {
  command::check_outputs({.results = o.output, .json = o.json});
  if (o.append && o.output.empty()) throw bad_input("--append", "needs a results file", "add -o FILE");
  if (o.separator.empty()) return;
  if (o.json || o.output == "-")
    throw bad_input("-x " + o.separator, "standard output is taken by --json or -o -", "omit one of them");
  if (o.separator.find_first_of("0123456789.-+%\"<>\r\n") != std::string::npos)
    throw bad_input("-x " + o.separator, "occurs within values", "-x, or -x';'");
}

/// "\t" is a tab, as in perf.
std::string choose_separator(const StatOptions& o) {
  return o.separator == "\\t" ? "\t" : o.separator;
}

struct Subject {
  Counted what;
  std::vector<int> cpus;
  std::string text;
};

std::map<std::string, std::string> plan_settings(const StatOptions& o, const Request& request) {
  std::map<std::string, std::string> settings{{"repeat", std::to_string(request.repeat)}};
  if (!o.input.empty()) settings["input"] = o.input;
  return settings;
}

/// Counts, prints intervals, and writes results.
class Statistics {
public:
  Statistics(const StatOptions& o, const Plan& plan, const Request& request, const Subject& subject)
      : o_(o),
        plan_(plan),
        request_(request),
        subject_(subject),
        tables_(o.export_to),
        results_(o.output, subject.text, plan_settings(o, request), o.append),
        stream_(request.command.empty() || !o.separator.empty() ? stdout : stderr) {}

  Listener listener() {
    return [this](const Slice& slice) { take(slice); };
  }
  int finish(const RunResult& ended) {
    if (o_.json)
      command::print("{}", stat_json(plan_, request_, ended, intervals_));
    else if (o_.separator.empty())
      command::print(stream_, "{}", stat_table(plan_, ended, subject_.text, stream_));
    else if (o_.interval == 0)
      command::print("{}", stat_csv(plan_, ended, choose_separator(o_)));
    command::flush(stream_);
    command::print(stderr, "{}", last_lines_text(ended, "", stderr));
    if (ended.error) std::rethrow_exception(ended.error); // nothing counted is lost with the results file
    show::Table counts = values_table(plan_, ended);
    counts.add_data(count_data(plan_, ended, subject_.text));
    tables_.write(subject_.text, {counts});
    return exit_status(ended);
  }

private:
  void take(const Slice& slice) {
    results_.write(slice);
    if (!slice.interval) return;
    if (o_.json) return intervals_.push_back(slice);
    command::print(stream_, "{}",
                   o_.separator.empty() ? interval_lines(plan_, slice, *slice.interval == 0)
                                        : interval_csv(plan_, slice, choose_separator(o_)));
    command::flush(stream_);
  }

  const StatOptions& o_;
  const Plan& plan_;
  const Request& request_;
  const Subject& subject_;
  command::TableExport tables_;
  CommandResults results_;
  std::FILE* stream_; ///< stdout belongs to the command
  std::vector<Slice> intervals_;
};

Subject make_subject(const StatOptions& o, const Request& request) {
  Subject subject{Counted::command, whole_cpus(o) ? parse_cpus(o.cpus) : std::vector<int>{}, ""};
  if (!subject.cpus.empty())
    subject.what = Counted::cpus;
  else if (!request.pids.empty())
    subject.what = Counted::processes;
  subject.text =
      (o.cgroup.empty() ? "" : "cgroup " + o.cgroup + " on ") + describe_subject(request, subject.cpus);
  return subject;
}

int execute_stat(const StatOptions& o) {
  if (o.list) return list_metrics(o);
  const Witnesses witnesses = parse_witnesses(o.witnesses);
  check_witnesses(o, witnesses);
  if (o.compare) return execute_compare(o);
  if (o.baseline > 0)
    throw bad_input(fmt::format("--baseline {}", o.baseline), "is for commands that are compared",
                    "add --compare");
  Request request = make_request(o);
  check_output_options(o);
  std::optional<Control> control;
  if (!o.control.empty())
    request.control = &control.emplace(o.control, [](std::string_view word) {
      command::note("recount stat: warning: --control: unknown command '{}' ignored\n", word);
    });
  const Subject subject = make_subject(o, request);
  const process::Fd cgroup = o.cgroup.empty() ? process::Fd() : open_cgroup(o.cgroup);
  const auto metrics = metric::load(o.metrics);
  const auto items = requested_items(o, subject.what, metrics);
  Plan plan;
  if (witnesses.perf || witnesses.papi) {
    plan = make_plan(items, metrics, parse_domain(o.domain), subject.cpus, cgroup.get());
    if (!o.null) plan.notes = make_notes(plan, o.domain);
    plan.rates = o.events.empty() && o.names.empty();
  }
  const auto sets = witnesses.papi ? add_papi(plan, witnesses.perf) : std::vector<PapiNames>{};
  const bool chosen = !o.events.empty() || !o.names.empty();
  const auto models =
      add_modelled(plan, chosen ? items : std::vector<Item>{}, witnesses.models, request.sample);
  if (subject.what != Counted::command) require_countable(plan, subject.text);
  const auto passes = make_passes(plan, witnesses, sets, models, request);
  if (request.warm_up > 0 || request.repeat > 1 || passes.size() > 1)
    command::require_repeatable("stat", request.input, request.command);
  Statistics statistics(o, plan, request, subject);
  const auto execute = [&] {
    const ProgressEnd end(request);
    return run_passes(plan, request, passes, witnesses.papi, statistics.listener());
  };
  return statistics.finish(execute());
}

} // namespace

command::Command stat_command() {
  auto command = command::make_command<StatOptions>(
      "stat", "count events, presets and metrics of any program",
      [](command::Options& options, StatOptions& o) {
        options.list("-e,--event", o.events, "LIST", "events, presets, metrics; {a,b}: event group")
            .list("-M", o.names, "LIST", "metrics, besides the events")
            .flag("-d,--detailed", o.detailed, "also count loads and misses of L1d and of the last level")
            .flag("-n,--null", o.null, "count nothing, measure the time")
            .list("--metrics", o.metrics, "FILE", "read more metrics from FILE, see recount-metrics(5)")
            .event_files()
            .number("-r,--repeat", o.repeat, "N",
                    "number of runs (default 1; with --compare, until they decide)", {1, 1'000'000})
            .number("-w,--warm-up", o.request.warm_up, "N",
                    "runs before the first that are not counted (default 0)", {0, 1'000'000})
            .text("--prepare", o.prepare, "COMMAND", "execute this before each run, without a shell")
            .text("--input", o.input, "FILE", command::input_help)
            .flag("--show-output", o.show_output,
                  "show the output of COMMAND in several runs (default: discard it)")
            .flag("-i,--ignore-failure", o.request.ignore_failure,
                  "also count runs that fail (default: stop at the first)")
            .flag("--no-inherit", o.no_inherit, "leave out threads and processes that COMMAND starts")
            .list("-p,--pid", o.pids, "LIST", "attach to these PIDs until they or COMMAND exit")
            .list("-t,--tid", o.tids, "LIST", "the same for single threads")
            .number("-D,--delay", o.delay, "MS", "start counting MS milliseconds after the command",
                    {0, 86'400'000})
            .number("--timeout", o.timeout, "MS", "end COMMAND, or counting, after MS milliseconds",
                    {1, 86'400'000})
            .text("--control", o.control, "fd:N[,M]",
                  "obey enable, disable and ping read from descriptor N; fifo:PATH[,PATH]")
            .flag("--per-thread", o.per_thread, "also show the counts of each thread (-p, -t)")
            .flag("--per-core", o.per_core, "also show the counts of each core (-a, -C)")
            .flag("-A,--no-aggr", o.per_cpu, "also show the counts of each CPU (-a, -C)")
            .flag("-a,--all-cpus", o.all_cpus, "count all that runs on all CPUs, and what packages count")
            .list("-C,--cpus", o.cpus, "LIST", "the same on these CPUs: 0-3,8")
            .text("-G,--cgroup", o.cgroup, "NAME",
                  "of that, only what processes of this cgroup execute (-a if not -C)")
            .number("-I,--interval", o.interval, "MS", "print counts every MS milliseconds",
                    command::interval_range)
            .list("--witness", o.witnesses, "LIST",
                  "perf; papi: counts COMMAND as well; model, model:NAME: simulates it (default: perf)")
            .text("--section", o.request.section, "NAME",
                  "simulate only the program's section NAME (recount/sections.h)")
            .text(
                "--from", o.request.from, "FUNCTION",
                "simulate from each entry of FUNCTION on, until it returns or --to (default: from the start)")
            .text("--to", o.request.to, "FUNCTION",
                  "simulate until FUNCTION is entered (default: to the end)")
            .number("--sample-every", o.request.sample, "N",
                    "simulate one of N windows of accesses, and state the error (default: all)",
                    {2, 1'000'000})
            .text("--domain", o.domain, "DOMAIN",
                  "count in user mode, kernel or all (default: all, where permitted)")
            .text("-o,--output", o.output, "FILE", "write results to FILE; - is stdout")
            .flag("--append", o.append, "append to the file of -o")
            .text("-x,--field-separator", o.separator, "SEP",
                  "print lines of fields with SEP between them on stdout")
            .flag("--json", o.json, "print the summary as one JSON object on stdout")
            .text("--export", o.export_to, "FILE", command::export_help)
            .flag("--compare", o.compare,
                  "run COMMAND1 --- COMMAND2 [--- ...] in turn and compare their counts")
            .number("--baseline", o.baseline, "N",
                    "number of the command that ratios are against (default 1)", {1, 1'000'000})
            .flag("--list", o.list, "list metrics and exit")
            .program(o.request.command, "program to run and count");
      },
      execute_stat);
  command.transparent = true;
  return command;
}

} // namespace recount::stat
