#include "witness/program_witness.hpp"

#include "base/text.hpp"
#include "papi/event_set.hpp"
#include "papi/library.hpp"
#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/spawn.hpp"
#include "symbol/module.hpp"
#include "witness/both.hpp"
#include "witness/counting.hpp"

#include <recount/papi.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <functional>

namespace recount::witness {
namespace {

/// A program that is stopped at its entry point, or at main() of a static one: as trace::Executed counts.
class Stopped {
public:
  Stopped(const ProgramTask& task, int nowhere, int errors)
      : limit_(task.limit), child_(spawn(task, nowhere, errors)) {
    if (const pid_t pid = child_.pid(); process::stopped_after_exec(pid))
      process::run_to_entry(pid, symbol::entry_to_main(fmt::format("/proc/{}/exe", pid)));
  }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  process::Exit run() {
    ::ptrace(PTRACE_DETACH, child_.pid(), nullptr, nullptr);
    return child_.wait(limit_);
  }

private:
  static process::Spawn spawn(const ProgramTask& task, int nowhere, int errors) {
    process::Spawn spawn{task.command};
    spawn.environment = task.environment;
    spawn.out = nowhere;
    spawn.err = errors;
    spawn.inherits = true;
    spawn.traced = true;
    return spawn;
  }
  std::optional<std::chrono::milliseconds> limit_;
  process::Child child_;
};

/// In the forked child: writes an observation per line.
class Counter {
public:
  Counter(const ProgramTask& task, int fd, int errors) : task_(task), fd_(fd), errors_(errors) {}

  void run() {
    const auto [perf, papi] = resolve_metrics(task_.metrics);
    report_refused(perf, Witness::perf);
    report_refused(papi, Witness::papi);
    for (const Set& set : make_sets(perf, fits_one_group))
      repeat(Witness::perf, set, [&](Stopped& program) { return by_perf(program, set, perf); });
    for (const Set& set :
         make_sets(papi, [&](const Set& s) { return papi_refusal(names_of(s, task_.metrics)).empty(); }))
      repeat(Witness::papi, set, [&](Stopped& program) { return by_papi(program, set); });
  }

private:
  using Observations = std::vector<result::Observation>;

  result::Observation blank(std::size_t metric, Witness::Kind witness) const {
    result::Observation o;
    o.kernel = "command";
    o.witness = witness;
    o.metric = task_.metrics[metric];
    o.nesting = std::string("apart");
    return o;
  }
  void report(const result::Observation& o) const {
    static_cast<void>(process::write_all(fd_, result::to_line(o) + "\n"));
  }
  void report_refused(const std::vector<MetricEvents>& requested, Witness::Kind witness) const {
    for (std::size_t i = 0; i < requested.size(); ++i)
      if (!requested[i].refused.empty()) {
        auto o = blank(i, witness);
        refuse(o, requested[i]);
        report(o);
      }
  }

  Observations by_perf(Stopped& program, const Set& set, const std::vector<MetricEvents>& requested) const {
    GroupOptions options;
    options.pid = program.pid();
    options.inherit = true;
    Counters counters(set.events, options);
    counters.start();
    check(program.run());
    const std::vector<Count> counts = counters.read();
    Observations all;
    for (std::size_t k = 0; k < set.metrics.size(); ++k) {
      auto& o = all.emplace_back(blank(set.metrics[k], Witness::perf));
      const auto own = set.counts_of(k, counts);
      if (complete(own))
        fill(o, requested[set.metrics[k]], own);
      else
        o.reason = std::string("its events were not on the counters all the time");
    }
    return all;
  }
  Observations by_papi(Stopped& program, const Set& set) const {
    papi::EventSet counters(names_of(set, task_.metrics), Domain::user, program.pid());
    counters.start();
    check(program.run());
    std::vector<long long> values(set.metrics.size());
    counters.stop(values.data());
    Observations all;
    for (std::size_t k = 0; k < set.metrics.size(); ++k)
      all.emplace_back(blank(set.metrics[k], Witness::papi)).value = std::int64_t{values[k]};
    return all;
  }
  void check(const process::Exit& exit) const {
    if (exit.how == process::Exit::How::timed_out)
      throw unavailable(task_.command.front(), process::describe(exit), {}, "a larger --timeout");
    if (exit.how == process::Exit::How::signalled)
      throw unavailable(task_.command.front(), process::describe(exit));
  }

  void repeat(Witness::Kind witness, const Set& set,
              const std::function<Observations(Stopped&)>& count) const {
    const process::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    for (int repetition = 0; repetition < task_.repeat; ++repetition) {
      Observations all;
      try {
        Stopped program(task_, nowhere.get(), errors_);
        all = count(program);
      } catch (const process::CannotRun&) {
        throw;
      } catch (const Error& error) {
        for (const std::size_t i : set.metrics) {
          all.push_back(blank(i, witness));
          all.back().reason = Reason(error.problem());
        }
      }
      for (result::Observation& o : all) {
        o.repetition = repetition * static_cast<int>(passes);
        report(o);
      }
    }
  }

  const ProgramTask& task_;
  int fd_, errors_;
};

} // namespace

std::vector<result::Observation> count_program(const ProgramTask& task) {
  constexpr std::chrono::hours forever{24 * 365};
  const process::Fd errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  const auto done = process::in_fork(
      [&](int fd) {
        Counter(task, fd, errors.get()).run();
        return 0;
      },
      forever);
  if (!done.exit.ok())
    throw unavailable(
        task.command.front(),
        "it could not be counted: " +
            std::string(base::trim(done.err.empty() ? process::describe(done.exit) : done.err)));
  std::vector<result::Observation> all;
  for (const auto line : base::split(std::string_view(done.out), '\n'))
    if (!line.empty())
      all.push_back(std::get<result::Observation>(result::parse_line(line, "recount check --program")));
  return all;
}

} // namespace recount::witness
