#include "commands/check/check_program.hpp"

#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "count/papi/event_set.hpp"
#include "count/symbol/module.hpp"
#include "kernel/proofs.hpp"
#include "kernel/tally.hpp"
#include "model/hierarchy.hpp"
#include "model/metrics.hpp"
#include "model/trace/decoder.hpp"
#include "model/trace/executed.hpp"
#include "model/trace/gates.hpp"
#include "model/trace/session.hpp"
#include "run/verdict/index.hpp"
#include "run/verdict/verdict.hpp"
#include "run/witness/both.hpp"
#include "run/witness/counting.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

namespace recount::check {
namespace {

/// The widest of the kernels that verify the preset: theirs are shorter, and nothing else runs in them.
double largest_tolerance(const std::string& preset) {
  double widest = 0;
  for (const auto& row : kernel::proof_rows())
    if (std::ranges::count(base::words(row.presets), preset) > 0) widest = std::max(widest, row.tolerance);
  return widest;
}

/// Valgrind states another CPU, by whose vendor, caches and features libc selects its functions, and sizes
/// from which it uses `rep`: in every execution it is made to select the same ones (glibc manual, "Hardware
/// Capability Tunables" and "x86 tunables").
std::vector<std::pair<std::string, std::string>> same_functions() {
#if defined(__x86_64__)
  constexpr const char* tunables = "GLIBC_TUNABLES";
  const char* const own = std::getenv(tunables);
  return {
      {tunables, std::string(own ? own : "") + (own ? ":" : "") +
                     "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-FSRM,-RTM,"
                     "-Prefer_No_VZEROUPPER," // set where there is RTM, before it is taken away
                     "-Fast_Rep_String,-Fast_Unaligned_Load,-Fast_Unaligned_Copy,-Prefer_PMINUB_for_stringop:"
                     "glibc.cpu.x86_rep_movsb_threshold=2048:glibc.cpu.x86_rep_stosb_threshold=2048:"
                     "glibc.cpu.x86_non_temporal_threshold=1048576"}};
#else
  return {};
#endif
}

/// Rewound for the next execution. A terminal is not read, as the command is not in its foreground.
int input_of(const ProgramRequest& request) {
  request.input.rewind();
  return ::isatty(request.input.fd()) == 1 ? -1 : request.input.fd();
}

using Observations = std::vector<result::Observation>;
using witness::MetricEvents, witness::Set;

/// A program that is stopped at its entry point, or at main() of a static one: as trace::Executed counts.
class Stopped {
public:
  Stopped(const ProgramRequest& request, int null_output, int errors)
      : request_(request), child_(spawn(request, null_output, errors)) {
    if (const pid_t pid = child_.pid(); process::stopped_after_exec(pid))
      process::run_to_entry(pid, symbol::entry_to_main(fmt::format("/proc/{}/exe", pid)));
  }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  /// Throws Error (unavailable) where it does not end by itself.
  void run() {
    ::ptrace(PTRACE_DETACH, child_.pid(), nullptr, nullptr);
    const process::Exit exit = child_.wait(request_.limit);
    const bool late = exit.how == process::Exit::How::timed_out;
    if (late || exit.how == process::Exit::How::signalled)
      throw unavailable(request_.command.front(), process::describe(exit), {},
                        late ? "a larger --timeout" : "");
  }

private:
  static process::Spawn spawn(const ProgramRequest& request, int null_output, int errors) {
    process::Spawn spawn{request.command};
    spawn.environment = same_functions();
    spawn.in = input_of(request);
    spawn.out = null_output;
    spawn.err = errors;
    spawn.inherits = true;
    spawn.traced = true;
    return spawn;
  }
  const ProgramRequest& request_;
  process::Child child_;
};

/// In the forked child: writes an observation per line, for each set of metrics that fits on the counters.
class Counter {
public:
  Counter(const ProgramRequest& request, const std::vector<std::string>& metrics, int fd, int errors)
      : request_(request), metrics_(metrics), fd_(fd), errors_(errors) {}

  void run() {
    const auto [perf, papi] = witness::resolve_metrics(metrics_);
    report_refused(perf, Witness::perf);
    report_refused(papi, Witness::papi);
    for (const Set& set : witness::make_sets(perf, witness::fits_one_group))
      repeat(Witness::perf, set, [&](Stopped& program) { return by_perf(program, set, perf); });
    const auto fits = [&](const Set& s) { return witness::papi_refusal(names_of(s, metrics_)).empty(); };
    for (const Set& set : witness::make_sets(papi, fits))
      repeat(Witness::papi, set, [&](Stopped& program) { return by_papi(program, set); });
  }

private:
  result::Observation blank(std::size_t metric, Witness::Kind witness) const {
    result::Observation o;
    o.kernel = command_kernel;
    o.witness = witness;
    o.metric = metrics_[metric];
    o.nesting = result::Nesting::apart;
    return o;
  }
  void report(const result::Observation& o) const {
    static_cast<void>(process::write_all(fd_, result::to_line(o) + "\n"));
  }
  void report_refused(const std::vector<MetricEvents>& requested, Witness::Kind witness) const {
    for (std::size_t i = 0; i < requested.size(); ++i)
      if (!requested[i].refused.empty()) {
        auto o = blank(i, witness);
        witness::refuse(o, requested[i]);
        report(o);
      }
  }

  Observations by_perf(Stopped& program, const Set& set, const std::vector<MetricEvents>& requested) const {
    GroupOptions options;
    options.pid = program.pid();
    options.inherit = true;
    Counters counters(set.events, options);
    counters.start();
    program.run();
    const std::vector<Count> counts = counters.read();
    Observations all;
    for (std::size_t k = 0; k < set.metrics.size(); ++k) {
      auto& o = all.emplace_back(blank(set.metrics[k], Witness::perf));
      const auto own = set.counts_of(k, counts);
      if (witness::complete(own))
        witness::fill(o, requested[set.metrics[k]], own);
      else
        o.reason = std::string("its events were not on the counters all the time");
    }
    return all;
  }
  Observations by_papi(Stopped& program, const Set& set) const {
    papi::EventSet counters(names_of(set, metrics_), Domain::user, program.pid());
    counters.start();
    program.run();
    std::vector<long long> values(set.metrics.size());
    counters.stop(values.data());
    Observations all;
    for (std::size_t k = 0; k < set.metrics.size(); ++k)
      all.emplace_back(blank(set.metrics[k], Witness::papi)).value = std::int64_t{values[k]};
    return all;
  }

  void repeat(Witness::Kind witness, const Set& set,
              const std::function<Observations(Stopped&)>& count) const {
    const process::Fd null_output = process::null_output();
    for (int repetition = 0; repetition < request_.repeat; ++repetition) {
      Observations all;
      try {
        Stopped program(request_, null_output.get(), errors_);
        all = count(program);
      } catch (const process::CannotRun&) {
        throw;
      } catch (const Error& error) {
        for (const std::size_t i : set.metrics)
          all.emplace_back(blank(i, witness)).reason = Reason(error.problem());
      }
      for (result::Observation& o : all) {
        o.repetition = repetition * static_cast<int>(witness::passes()); // each is a process of its own
        report(o);
      }
    }
  }

  const ProgramRequest& request_;
  const std::vector<std::string>& metrics_;
  int fd_, errors_;
};

/// Executes the command with standard output at /dev/null, counts it and its descendants in user
/// mode from its entry point on, and never multiplexes: one observation for each metric, witness and
/// repetition. Everything happens in a forked child. Throws Error (unavailable) for a command that cannot be
/// executed, or if counting it crashes.
Observations count_program(const ProgramRequest& request, const std::vector<std::string>& metrics) {
  constexpr std::chrono::hours forever{24 * 365};
  const process::Fd errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  const auto done = process::in_fork(
      [&](int fd) {
        Counter(request, metrics, fd, errors.get()).run();
        return 0;
      },
      forever);
  if (!done.exit.ok())
    throw unavailable(
        request.command.front(),
        "it could not be counted: " +
            std::string(base::trim(done.err.empty() ? process::describe(done.exit) : done.err)));
  Observations all;
  for (const std::string& line : base::words(done.out, '\n'))
    all.push_back(std::get<result::Observation>(result::parse_line(line, "recount check --program")));
  return all;
}

Trial program_trial(const Subject& subject, const ProgramRequest& request, const ExpectedProgram& expected,
                    const Index& index) {
  Trial t;
  t.preset = subject.name;
  t.metric = subject.reference;
  t.kernel = command_kernel;
  const auto& perf = index.of(command_kernel, {}, subject.name, Witness::perf);
  const auto& papi = index.of(command_kernel, {}, subject.name, Witness::papi);
  t.perf = measurement(perf, "not run");
  t.papi = measurement(papi, "not run");
  if (request.repeat > 1)
    t.differences = differences(perf, papi); // of one execution each they decide nothing
  t.separate_runs = true;
  t.tolerance = request.tolerance.value_or(largest_tolerance(subject.reference));
  t.fixed_tolerance = request.tolerance.has_value();
  t.stated = expected.presets.at(subject.reference);
  return t;
}

} // namespace

void require_program_check(const ProgramRequest& request) {
  const auto pmus = host::pmus();
  if (std::ranges::none_of(pmus, &host::Pmu::core))
    throw unavailable("--program", "this machine has no core PMU: there are no counters to compare", {},
                      "recount stat --witness model -- COMMAND states what the program must do");
  static_cast<void>(trace::tool_command(request.command, {.channel = {}, .subject = "check --program"}));
}

Checked check_program(const ProgramRequest& request, const CheckPlan& plan, const ExpectedProgram& expected) {
  const auto can_count = [&](const Subject& subject) {
    return subject.reason.empty() && expected.presets.contains(subject.reference);
  };
  std::vector<std::string> metrics;
  for (const Subject& subject : plan.subjects)
    if (can_count(subject)) metrics.push_back(subject.name);
  result::Results results;
  if (!metrics.empty()) results.observations = count_program(request, metrics);
  const Index index(results);
  Checked checked;
  for (const Subject& subject : plan.subjects) {
    PresetVerdict& verdict = checked.verdicts.emplace_back();
    if (can_count(subject)) {
      verdict = verdicts(std::vector{program_trial(subject, request, expected, index)}, {}).front();
      add_errata(verdict, witness::resolve_metric(subject.name).events, host::this_cpu());
    } else {
      verdict.preset = subject.name;
      verdict.why = subject.reason.empty() ? "a program's execution does not state it" : subject.reason;
    }
  }
  return checked;
}

namespace {

/// What all processes of the run add up to.
struct ProgramTotals {
  trace::Blocks blocks = {};
  std::vector<model::Hierarchy> caches = {}; ///< for each placement of pages; sums alone
  trace::ExecutedCounts all = {}, environment = {};
  std::int64_t loads = 0, stores = 0; ///< accesses
  std::int64_t lines = 0;             ///< that the first level brought in for the first time
  bool any = false; ///< a process has begun: counters miss the dynamic linker of the first one alone
  bool entered = false;
  std::optional<trace::Undecoded> undecoded = {};
};

/// One process: its instructions, and its misses in the machine for each placement.
class TracedProcess {
public:
  TracedProcess(ProgramTotals& totals, std::vector<model::Hierarchy> caches)
      : totals_(&totals),
        executed_(totals.blocks, !std::exchange(totals.any, true)),
        caches_(std::move(caches)) {}

  void block(const trace::Blocks::Block& block) {
    const bool before = executed_.entered();
    executed_.block(block);
    if (before || !executed_.entered()) return;
    for (model::Hierarchy& caches : caches_)
      caches.reset_counters(); // of the dynamic linker
  }
  void left(unsigned instructions) { executed_.left(instructions); }
  template <bool store>
  void access(std::uint64_t address, unsigned bytes, std::uint32_t) {
    if (executed_.entered()) ++(store ? stores_ : loads_);
    for (model::Hierarchy& caches : caches_)
      store ? caches.store(address, bytes) : caches.load(address, bytes);
    if (caches_.empty() || caches_.front().first_misses() == misses_) return;
    misses_ = caches_.front().first_misses();
    for (const std::uint64_t at : {address, address + bytes - 1})
      missed_[at >> region_shift] |= std::uint64_t{1} << (at >> line_shift) % 64;
  }
  void thread(std::uint64_t number) {
    executed_.interrupt();
    for (model::Hierarchy& caches : caches_)
      caches.select(trace::core_of(number));
  }
  void module(const trace::Module& module) { executed_.module(module); }
  void undecoded(const trace::Undecoded& instruction) { totals_->undecoded = instruction; }
  void section(std::string_view) {}
  [[nodiscard]] std::unique_ptr<TracedProcess> forked(std::uint32_t) const {
    auto child = std::make_unique<TracedProcess>(*totals_, caches_);
    child->executed_ = executed_.forked();
    for (model::Hierarchy& caches : child->caches_)
      caches.reset_counters();
    return child;
  }
  void end() {
    if (!executed_.entered()) return;
    totals_->entered = true;
    totals_->all += executed_.all();
    totals_->environment += executed_.environment();
    totals_->loads += loads_;
    totals_->stores += stores_;
    for (const auto& [region, lines] : missed_)
      totals_->lines += std::popcount(lines);
    for (std::size_t i = 0; i < caches_.size(); ++i)
      totals_->caches[i].add(caches_[i].counts(), model::Hierarchy(caches_[i].machine()).counts(), 1);
  }

private:
  ProgramTotals* totals_;
  trace::Executed executed_;
  std::vector<model::Hierarchy> caches_;
  std::int64_t loads_ = 0, stores_ = 0, misses_ = 0;
  static constexpr unsigned line_shift = 6, region_shift = line_shift + 6;
  std::unordered_map<std::uint64_t, std::uint64_t> missed_; ///< lines, by regions of 64
};

/// The machine; where a placement of pages can change its misses and none is chosen, some draws besides.
std::vector<model::Hierarchy> placements(const std::string& name) {
  constexpr std::uint64_t draws = 3;
  const model::MachineDescription machine = model::machine(name);
  if (machine.sampled || !machine.family.empty())
    throw bad_input("--witness model:" + name, "~sample and ~l1= are for kernels", "omit them");
  std::vector<model::Hierarchy> all;
  all.emplace_back(machine);
  if (!model::depends_on_placement(machine)) return all;
  model::MachineDescription drawn = machine.placement ? machine : model::altered(machine, "placement=any");
  for (std::uint64_t draw = 1; draw <= draws; ++draw) {
    drawn.placement->draw = draw;
    all.emplace_back(drawn);
  }
  return all;
}

using Process = trace::Decoder<TracedProcess>;

/// Executes the command; how it ended.
process::Exit trace_command(const ProgramRequest& request, const std::vector<model::Hierarchy>& caches,
                            ProgramTotals& totals, std::vector<std::string>& notes) {
  const auto begin = [&](std::uint32_t, std::uint32_t) -> std::unique_ptr<trace::Reader> {
    return std::make_unique<Process>(totals.blocks, std::make_unique<TracedProcess>(totals, caches));
  };
  const auto end = [](trace::Reader& process) { dynamic_cast<Process&>(process).sink().end(); };
  trace::Session session(begin, end);
  const auto tool = trace::tool_command(request.command, {.channel = session.channel(), .exact = true});
  const process::Fd null_output = process::null_output();
  process::Spawn spawn{tool.argv};
  spawn.environment = tool.environment;
  for (auto& variable : same_functions())
    spawn.environment.push_back(std::move(variable));
  spawn.in = input_of(request);
  spawn.out = null_output.get();
  spawn.inherits = true;
  process::Child child(spawn);
  const process::Exit exit = child.wait();
  session.finish();
  if (const std::string why = session.missing(exit); !why.empty())
    throw unavailable(request.command.front(), why);
  if (const std::string doubts = session.doubts(); !doubts.empty())
    notes.push_back("Perhaps otherwise: " + doubts + ".");
  return exit;
}

/// The presets of instructions that follow from what was executed.
std::vector<kernel::Expectation> instruction_presets(const trace::ExecutedCounts& counts) {
  const auto d = [](std::int64_t count) { return static_cast<double>(count); };
  const kernel::Tally tally{.instructions = d(counts.instructions),
                            .loads = d(counts.loads),
                            .stores = d(counts.stores),
                            .transfers = d(counts.transfers),
                            .conditional = d(counts.conditional),
                            .taken = d(counts.taken),
                            .unconditional = d(counts.unconditional)};
  static const std::set<std::string> stated{"PAPI_TOT_INS", "PAPI_LD_INS", "PAPI_SR_INS",
                                            "PAPI_LST_INS", "PAPI_BR_INS", "PAPI_BR_CN",
                                            "PAPI_BR_UCN",  "PAPI_BR_TKN", "PAPI_BR_NTK"};
  auto all = kernel::instruction_presets(tally, 1, {});
  std::erase_if(all, [&](const kernel::Expectation& one) { return !stated.contains(one.metric); });
  return all;
}

/// Exact but for what runs otherwise under Valgrind, and what processors count in several ways.
void state_instructions(const ProgramTotals& totals, std::map<std::string, Stated>& presets) {
  const auto all = instruction_presets(totals.all), environment = instruction_presets(totals.environment);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double linker = environment[i].value;
    presets[all[i].metric] = {
        all[i].value, linker, linker,
        fmt::format("modelled: executed under Valgrind, {:.0f} by the dynamic linker", linker)};
  }
  const auto widen = [&](const char* preset, double most, const char* why) {
    Stated& stated = presets.at(preset);
    stated.above += std::max(0.0, most - stated.value);
    stated.form += why;
  };
  constexpr const char* accesses = "; at most one per access";
  widen("PAPI_LD_INS", static_cast<double>(totals.loads), accesses);
  widen("PAPI_SR_INS", static_cast<double>(totals.stores), accesses);
  widen("PAPI_LST_INS", static_cast<double>(totals.loads + totals.stores), accesses);
  for (const char* preset : {"PAPI_BR_INS", "PAPI_BR_UCN"})
    widen(preset, presets.at(preset).value + static_cast<double>(totals.all.system_calls),
          "; system calls may count as branches");
}

/// The range over the placements. A page that is touched for the first time was just cleared by the kernel,
/// so that its lines may be in the caches: these misses need not occur.
void state_misses(const ProgramTotals& totals, std::map<std::string, Stated>& presets) {
  std::map<std::string, std::vector<double>> by_placement;
  for (const model::Hierarchy& caches : totals.caches)
    for (const auto& [name, value] : model::metrics(caches))
      by_placement[name].push_back(static_cast<double>(value));
  for (const auto& [name, values] : by_placement) {
    if (!is_preset(name) || presets.contains(name)) continue;
    const auto [least, most] = std::ranges::minmax(values);
    const double middle = (least + most) / 2;
    const double cleared = std::min(least, static_cast<double>(totals.lines));
    presets[name] = {middle, middle - least + cleared, most - middle + stray_occurrences,
                     fmt::format("modelled: simulated in {}{}; the kernel may have brought in {:.0f}",
                                 totals.caches.front().machine().name,
                                 totals.caches.size() > 1
                                     ? fmt::format(", {} placements of pages", totals.caches.size())
                                     : std::string(),
                                 cleared)};
  }
}

} // namespace

ExpectedProgram trace_program(const ProgramRequest& request) {
  ExpectedProgram expected;
  std::vector<model::Hierarchy> caches;
  try {
    caches = placements(request.machine);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    expected.notes.push_back("No misses are expected: " + error.problem().cause + ".");
  }
  ProgramTotals totals;
  for (const model::Hierarchy& one : caches)
    totals.caches.emplace_back(one.machine());
  const process::Exit exit = trace_command(request, caches, totals, expected.notes);
  if (const std::string why = trace::unexecuted(totals.undecoded, exit); !why.empty())
    throw unavailable(request.command.front(), why);
  if (!totals.entered)
    throw unavailable(request.command.front(),
                      "never reached its entry point under Valgrind: " + process::describe(exit));
  if (exit.how == process::Exit::How::signalled)
    throw unavailable(request.command.front(), "not executed to its end: " + process::describe(exit));
  if (!exit.ok()) expected.notes.push_back("The command failed: " + process::describe(exit) + ".");
  state_instructions(totals, expected.presets);
  state_misses(totals, expected.presets);
  return expected;
}

} // namespace recount::check
