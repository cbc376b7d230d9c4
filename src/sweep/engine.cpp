#include "sweep/engine.hpp"

#include "base/affinity.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/print.hpp"
#include "event/event_file.hpp"
#include "host/emulation.hpp"
#include "host/job.hpp"
#include "host/pmu.hpp"
#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/fork_worker.hpp"
#include "result/observation.hpp"
#include "result/results_file.hpp"
#include "witness/backend.hpp"
#include "witness/both.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

namespace recount::sweep {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

bool native(const Job& job) {
  return witness::find(job.witness).native;
}

/// Whether runs are forks of this process: in Valgrind a start takes a second, and processes begin with equal
/// addresses in any case. Elsewhere they are executed, so that they have nothing of this process.
bool forks(const Execution& execution) {
  return host::this_emulation().exact && execution.program.front() == "/proc/self/exe";
}

/// What each fork would load and read again. Where PAPI cannot start, each run gives the reason.
void prepare_forks(const std::vector<Job>& jobs) {
  const auto counted_by_papi = [](const Job& job) {
    return job.witness.kind == Witness::papi || job.witness.kind == Witness::both;
  };
  if (!std::ranges::any_of(jobs, counted_by_papi)) return;
  try {
    papi::initialise();
    for (const Job& job : jobs)
      if (job.witness.kind == Witness::both) witness::prepare_both(job.metrics);
  } catch (const Error&) {
  }
}

int serve_request(const std::string& request, int out, const Lookup& lookup);

/// One run in its own process, which reads a request and answers through a pipe. Destroying it kills the
/// process. Movable.
class RunProcess {
public:
  /// Starts it. Throws recount::Error (unavailable) when the program cannot be started at all.
  RunProcess(const Job& job, const Execution& execution)
      : job_(&job),
        run_(execution.run),
        limit_(native(job) ? execution.limit : execution.model_limit),
        worker_(start(job, execution)) {}

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] int out() const { return worker_.out(); } ///< to poll; -1 once all is read
  [[nodiscard]] int err() const { return worker_.err(); }
  /// When advance() must look at the limit; a later call may give a later time.
  [[nodiscard]] Clock::time_point deadline() const {
    const auto rest = left();
    return rest ? Clock::now() + std::max<nanoseconds>(*rest, milliseconds(native(*job_) ? 0 : 10))
                : Clock::time_point::max();
  }
  /// The completed share of a simulation, from the last progress line.
  [[nodiscard]] double simulated() const { return simulated_; }
  [[nodiscard]] nanoseconds wall() const { return ended_ - started_; }          ///< once ended
  [[nodiscard]] nanoseconds running() const { return Clock::now() - started_; } ///< since its start

  /// Reads available output without waiting; kills the process after its time limit. True: it has ended.
  bool advance() {
    worker_.read();
    simulated_ = take_progress(worker_.answer()).value_or(simulated_);
    const auto rest = left();
    const bool late = rest && rest->count() <= 0;
    if (!late && worker_.open()) return false;
    if (late) {
      exit_ = worker_.child().wait(milliseconds(0));
      if (exit_.how == process::Exit::How::timed_out) exit_.code = static_cast<int>(limit_->count());
    } else if (const auto exit = worker_.child().wait_for(milliseconds(20))) {
      exit_ = *exit;
    } else {
      return false; // has closed its outputs and still runs
    }
    ended_ = Clock::now();
    return true;
  }

  /// Once ended. `failed` is set when there is no usable answer.
  [[nodiscard]] Answer answer() const {
    Answer all;
    try {
      all = parse_answer(worker_.answer());
      const auto& backend = witness::find(job_->witness);
      const auto belongs = [&](const auto& o) {
        return o.run == run_ && o.kernel == job_->kernel && o.params == job_->point &&
               backend.could_record(o, job_->repetition, job_->witness);
      };
      if (!std::ranges::all_of(all.observations, belongs))
        throw bad_input("answer", "belongs to another run");
      if (!all.failed.empty() || (exit_.ok() && all.kernel_seconds)) return all;
      all.failed = ending("ended without an answer");
    } catch (const Error& error) {
      all.failed = ending(error.problem().subject + " " + error.problem().cause);
    }
    all.observations.clear();
    return all;
  }

private:
  static process::Worker start(const Job& job, const Execution& execution) {
    const std::string request =
        to_request({execution.run, job.kernel, job.point, job.repetition, job.witness, job.metrics});
    const auto cpu = native(job) ? execution.cpu : std::nullopt;
    if (forks(execution))
      return process::fork_worker([&](int out) {
        if (cpu && !base::pin_to(*cpu)) throw unavailable("run", "cannot be pinned to its CPU");
        return serve_request(request, out, kernel::find);
      });
    process::Spawn spawn;
    spawn.argv = execution.program;
    spawn.core_dump = false;
    spawn.cpu = cpu;
    spawn.fixed_addresses = native(job);
    return process::start_worker(std::move(spawn), request);
  }
  /// Remaining time; nothing without a limit. That of a simulation is CPU time, which does not depend on how
  /// many processes share the processor.
  [[nodiscard]] std::optional<nanoseconds> left() const {
    if (!limit_) return {};
    return native(*job_) ? started_ + *limit_ - Clock::now() : *limit_ - worker_.child().cpu_time();
  }
  /// Why there is no answer. `otherwise`: the cause if the process did not fail.
  [[nodiscard]] Reason ending(const std::string& otherwise) const {
    Reason reason = exit_.ok() ? otherwise : describe(exit_);
    if (!exit_.ok() && !native(*job_)) {
      if (exit_.how == process::Exit::How::timed_out)
        reason.cause = fmt::format("stopped after {} s of CPU time (--timeout)", exit_.code / 1000.0);
      reason.setting = fmt::format("{:.3g} % simulated", 100 * simulated_);
    }
    if (const std::string_view words = worker_.last_words(); !words.empty())
      reason.setting += fmt::format("{}last message: {:.300}", reason.setting.empty() ? "" : "; ", words);
    return reason;
  }

  const Job* job_;
  std::string run_;
  std::optional<milliseconds> limit_; ///< wall time of a native run, else CPU time
  Clock::time_point started_ = Clock::now(), ended_;
  process::Worker worker_;
  process::Exit exit_;
  double simulated_ = 0;
};

/// Mean wall time of one kind of run, for the estimate of what remains.
struct Pace {
  std::size_t left = 0, done = 0;
  nanoseconds spent{};
  void ended(nanoseconds wall) {
    --left;
    ++done;
    spent += wall;
  }
  [[nodiscard]] nanoseconds mean() const {
    return done > 0 ? spent / static_cast<long>(done) : nanoseconds(0);
  }
};

class Engine {
public:
  Engine(const std::vector<Job>& jobs, const Execution& execution, const Listener& listener)
      : jobs_(jobs), execution_(execution), listener_(listener) {
    for (const auto& job : jobs)
      ++pace(job).left;
    if (forks(execution)) prepare_forks(jobs);
  }

  Outcome run() {
    while (next_ < jobs_.size() || !running_.empty()) {
      if (listener_.stop && listener_.stop()) {
        outcome_.stopped = true;
        for (const auto& run : running_)
          if (!native(run.job())) outcome_.unfinished.push_back({run.job(), run.simulated()});
        running_.clear(); // kills them
        break;
      }
      launch();
      wait();
      for (auto it = running_.begin(); it != running_.end();) {
        if (!it->advance()) {
          ++it;
          continue;
        }
        const RunProcess ended = std::move(*it);
        it = running_.erase(it);
        take(ended);
      }
      report_long_runs();
    }
    outcome_.elapsed = Clock::now() - begin_;
    return std::move(outcome_);
  }

private:
  Pace& pace(const Job& job) { return native(job) ? timed_ : modelled_; }

  /// Timed runs are exclusive; model runs are limited by execution_.parallel.
  void launch() {
    while (next_ < jobs_.size()) {
      const Job& job = jobs_[next_];
      const bool timed = native(job);
      if (timed ? !running_.empty()
                : (!running_.empty() && native(running_.front().job())) ||
                      running_.size() >= static_cast<std::size_t>(std::max(1, execution_.parallel)))
        return;
      running_.emplace_back(job, execution_);
      ++next_;
    }
  }

  void wait() const {
    std::vector<pollfd> fds;
    auto until = Clock::now() + milliseconds(250); // a stop may go unnoticed for so long
    for (const auto& run : running_) {
      until = std::min(until, run.deadline());
      for (const int fd : {run.out(), run.err()})
        if (fd >= 0) fds.push_back({fd, POLLIN, 0});
    }
    if (fds.empty()) return; // advance() waits for the end of a process that has closed its outputs
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    static_cast<void>(::poll(fds.data(), fds.size(), static_cast<int>(std::max<long>(0, left))));
  }

  /// Reports progress of a long simulation every second; timed runs are not disturbed.
  void report_long_runs() {
    if (!listener_.progress || running_.empty() || native(running_.front().job())) return;
    if (const auto now = Clock::now(); now - reported_ > std::chrono::seconds(1)) {
      reported_ = now;
      Progress p = progress(running_.front().job());
      if (const double share = running_.front().simulated(); share > 0) p.simulated = share;
      listener_.progress(p);
    }
  }

  void take(const RunProcess& ended) {
    const Job& job = ended.job();
    pace(job).ended(ended.wall());
    const Answer answer = ended.answer();
    ++outcome_.runs;
    if (!answer.failed.empty()) {
      ++outcome_.failures;
      if (listener_.failure)
        listener_.failure(
            {execution_.run, job.kernel, job.point, job.repetition, job.witness, answer.failed});
    } else {
      const auto kernel = std::chrono::duration_cast<nanoseconds>(
          std::chrono::duration<double>(answer.kernel_seconds.value_or(0)));
      outcome_.overheads.push_back(ended.wall() - kernel);
      for (const auto& observation : answer.observations) {
        ++outcome_.observations;
        if (listener_.observation) listener_.observation(observation);
      }
    }
    reported_ = Clock::now();
    if (listener_.progress) listener_.progress(progress(job));
  }

  [[nodiscard]] Progress progress(const Job& job) const {
    Progress p;
    p.done = outcome_.runs;
    p.total = jobs_.size();
    p.failed = outcome_.failures;
    p.elapsed = Clock::now() - begin_;
    p.job = &job;
    p.remaining = remaining();
    return p;
  }

  /// What one simulation takes: the mean of those that ended, or by the share that one under way has done.
  [[nodiscard]] std::optional<nanoseconds> simulation() const {
    if (modelled_.done > 0) return modelled_.mean();
    for (const auto& run : running_)
      if (const double share = run.simulated(); share >= least_share)
        return std::chrono::duration_cast<nanoseconds>(run.running() / share);
    return timed_.done > 0 ? std::optional(timed_.mean()) : std::nullopt;
  }

  /// Of a run under way: by the share that a simulation has done, else what its kind takes in the mean.
  [[nodiscard]] static nanoseconds rest_of(const RunProcess& run, nanoseconds mean) {
    const auto spent = run.running();
    if (const double share = run.simulated(); share >= least_share)
      return std::chrono::duration_cast<nanoseconds>(spent * ((1 - share) / share));
    return std::max(mean - spent, nanoseconds(0));
  }

  /// Nothing before anything is known.
  [[nodiscard]] std::optional<nanoseconds> remaining() const {
    const auto modelled = simulation();
    if (!modelled && timed_.done == 0) return {};
    const nanoseconds timed = timed_.done > 0 ? timed_.mean() : *modelled;
    const nanoseconds simulated = modelled.value_or(timed);
    nanoseconds of_timed = timed * static_cast<long>(timed_.left);
    nanoseconds of_simulated = simulated * static_cast<long>(modelled_.left);
    for (const auto& run : running_) { // the means hold for those that have not started
      const nanoseconds mean = native(run.job()) ? timed : simulated;
      (native(run.job()) ? of_timed : of_simulated) += rest_of(run, mean) - mean;
    }
    return of_timed + of_simulated / std::max(1, execution_.parallel);
  }

  static constexpr double least_share = 0.01; ///< of a simulation; a smaller one tells nothing
  const std::vector<Job>& jobs_;
  const Execution& execution_;
  const Listener& listener_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point reported_ = begin_; ///< time of the last progress report
  std::list<RunProcess> running_;
  std::size_t next_ = 0;
  Pace timed_, modelled_;
  Outcome outcome_;
};

} // namespace

Outcome execute(const std::vector<Job>& jobs, const Execution& execution, const Listener& listener) {
  return Engine(jobs, execution, listener).run();
}

void limit_runs(Execution& execution, const std::string& timeout, std::chrono::seconds default_timeout) {
  execution.limit = default_timeout;
  if (timeout.empty()) return;
  const auto seconds = base::parse<double>(timeout);
  if (!seconds || !(*seconds > 0) || *seconds > 1e6)
    throw bad_input("--timeout " + timeout, "must be a number of seconds above 0 and up to 1000000");
  execution.limit = milliseconds(static_cast<long>(*seconds * 1000) + 1);
  execution.model_limit = execution.limit;
}

std::string show_progress(const sweep::Progress& p) {
  std::string text = fmt::format("{} of {}", p.done, base::format_count(p.total, "run"));
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  text += ", " + base::format_duration(p.elapsed) + host::emulated_text();
  if (p.simulated) text += fmt::format(", {:.1f} % of this one simulated", 100 * *p.simulated);
  if (p.remaining && p.done < p.total) text += ", about " + base::format_duration(*p.remaining) + " left";
  return text;
}

ProgressLine::ProgressLine(bool quiet, std::string command)
    : command_(std::move(command)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + (terminal_ ? std::chrono::milliseconds(0) : std::chrono::minutes(1))) {}

void ProgressLine::show(const sweep::Progress& progress) {
  if (quiet_ || Clock::now() < next_) return;
  std::string text = show_progress(progress);
  if (!terminal_) {
    command::note("recount {}: {}\n", command_, text);
    next_ = Clock::now() + std::chrono::minutes(1);
    return;
  }
  if (progress.job) text += ": " + progress.job->witness.name() + " " + result::describe(progress.job->point);
  text.resize(std::min(text.size(), command::line_width(stderr) - 1)); // a wrapped one cannot be written over
  command::print(stderr, "\r{}\033[K", text);
  shown_ = true;
  next_ = Clock::now() + std::chrono::milliseconds(100);
}

void ProgressLine::clear() {
  if (shown_) command::print(stderr, "\r\033[K");
  shown_ = false;
}

std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& recorded) {
  using Key = std::tuple<std::string, result::Params, int, Witness>;
  std::map<Key, std::set<std::string>> metrics;
  std::set<Key> failed;
  for (const auto& o : recorded.observations)
    metrics[{o.kernel, o.params, o.repetition, o.witness}].insert(o.metric);
  for (const auto& f : recorded.failures)
    failed.emplace(f.kernel, f.params, f.repetition, f.witness);

  // A run is complete when all that it gives is there: each pass of each of its witnesses.
  const auto is_complete = [&](const Job& job, const std::string& metric) {
    const auto& backend = witness::find(job.witness);
    for (const auto& name : backend.recorded_witnesses(job.witness))
      for (int pass = 0; pass < backend.passes; ++pass) {
        const auto found =
            metrics.find({job.kernel, job.point, job.repetition * backend.passes + pass, name});
        if (found == metrics.end() || !found->second.contains(metric)) return false;
      }
    return true;
  };
  std::vector<Job> left;
  for (const auto& job : jobs) {
    if (failed.contains({job.kernel, job.point, job.repetition, job.witness})) continue;
    Job rest = job;
    std::erase_if(rest.metrics, [&](const std::string& metric) { return is_complete(job, metric); });
    if (!rest.metrics.empty()) left.push_back(std::move(rest));
  }
  return left;
}

namespace {

constexpr std::size_t longest_request = 1 << 20;

std::vector<result::Observation> native(const kernel::Kernel& kernel, const witness::Backend& witness,
                                        const witness::Task& task) {
  const auto instance = kernel.prepare(task.point);
  instance->warm();
  auto all = witness.observe(kernel, instance.get(), task);
  const kernel::Placement at = instance->placement();
  if (at.base == 0) return all;
  for (auto& observation : all) {
    observation.placement = {{"base", static_cast<std::int64_t>(at.base)},
                             {"offset", at.offset},
                             {"page", at.page},
                             {"huge_bytes", at.huge_bytes}};
  }
  return all;
}

/// Reports the share of a simulation that is done, ten times a second at most.
class ProgressWriter {
public:
  explicit ProgressWriter(int out) : out_(out) {}
  void operator()(double share) {
    const auto now = std::chrono::steady_clock::now();
    if (share <= reported_ || now < next_) return;
    reported_ = share;
    next_ = now + std::chrono::milliseconds(100);
    // A reader that is gone is noticed at the end.
    static_cast<void>(process::write_all(out_, progress_line(share) + '\n'));
  }

private:
  int out_;
  double reported_ = 0;
  std::chrono::steady_clock::time_point next_{}; ///< the first share is reported at once
};

std::string answer(const std::string& request, const Lookup& lookup, int out) {
  witness::Task task = parse_request(request);
  task.progress = ProgressWriter(out);
  const auto& kernel = lookup(task.kernel);
  const auto& witness = witness::find(task.witness);
  const auto begin = std::chrono::steady_clock::now();
  const auto all = witness.native ? native(kernel, witness, task) : witness.observe(kernel, nullptr, task);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::string text;
  for (const auto& observation : all)
    text += to_line(observation) + '\n';
  return text + done_line(took.count()) + '\n';
}

} // namespace

std::string to_request(const witness::Task& task) {
  const Json object{{"run", task.run},
                    {"kernel", task.kernel},
                    {"params", dumped(result::make_json(task.point))},
                    {"repetition", task.repetition},
                    {"witness", task.witness},
                    {"metrics", task.metrics}};
  return dumped(object);
}

witness::Task parse_request(std::string_view text) {
  try {
    const Json object = Json::parse(text);
    witness::Task task;
    task.run = object.at("run").get<std::string>();
    task.kernel = object.at("kernel").get<std::string>();
    task.point = result::parse_params(object.at("params").get<std::string>(), "the request's params");
    task.repetition = object.at("repetition").get<int>();
    task.witness = object.at("witness").get<std::string>();
    task.metrics = object.at("metrics").get<std::vector<std::string>>();
    return task;
  } catch (const Json::exception&) {
    throw bad_input("run-point", "no request of recount sweep on stdin",
                    "run recount sweep, which starts this command itself");
  }
}

namespace {

int serve_request(const std::string& request, int out, const Lookup& lookup) {
  std::string text;
  int status = 0;
  try {
    text = answer(request, lookup, out);
  } catch (const Error& error) {
    text = failed_line(error.problem().about(error.problem().subject)) + '\n';
    status = error.kind() == ErrorKind::bad_input ? 2 : 3;
  } catch (const std::bad_alloc&) {
    text = failed_line("out of memory") + '\n';
    status = 3;
  }
  return process::write_all(out, text) ? status : 3;
}

} // namespace

int serve(int in, int out, const Lookup& lookup) {
  return serve_request(base::read_all(in, longest_request).value_or(""), out, lookup);
}

namespace {

constexpr std::string_view progress_start = R"({"progress":)";

} // namespace

std::string progress_line(double share) {
  return Json{{"progress", share}}.dump();
}

std::optional<double> take_progress(std::string& text) {
  std::optional<double> share;
  std::size_t end = 0, begin = 0;
  while (text.compare(begin, progress_start.size(), progress_start) == 0 &&
         (end = text.find('\n', begin)) != text.npos) {
    const Json line = Json::parse(std::string_view(text).substr(begin, end - begin), nullptr, false);
    if (line.is_object() && line.at("progress").is_number()) share = line.at("progress").get<double>();
    begin = end + 1;
  }
  text.erase(0, begin);
  return share;
}

std::string done_line(double kernel_seconds) {
  return Json{{"type", "done"}, {"kernel_seconds", kernel_seconds}}.dump();
}

std::string failed_line(const Reason& reason) {
  result::Failure failure;
  failure.reason = reason;
  return to_line(failure);
}

Answer parse_answer(std::string_view text) {
  Answer answer;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const std::string where = "answer:" + std::to_string(number);
    if (line.starts_with(R"({"type":"observation")") || line.starts_with(R"({"type":"failure")")) {
      auto parsed = result::parse_line(line, where);
      if (auto* const observation = std::get_if<result::Observation>(&parsed))
        answer.observations.push_back(std::move(*observation));
      else if (auto* const failure = std::get_if<result::Failure>(&parsed))
        answer.failed = std::move(failure->reason);
      else
        throw bad_input(where, "is not a line of an answer");
      continue;
    }
    try {
      answer.kernel_seconds = Json::parse(line).at("kernel_seconds").get<double>();
    } catch (const Json::exception&) {
      throw bad_input(where, "is not a line of an answer");
    }
  }
  return answer;
}

namespace {

/// Whether the results say anything about this machine: all but a described machine's model do.
bool of_this_machine(const std::vector<Job>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [](const Job& job) { return !job.witness.described_machine(); });
}

void check_same(const Batch& batch, const result::Results& recorded) {
  for (const auto& run : recorded.runs) {
    if (run.plan.empty()) continue; // nobody's sweep: values taken over from elsewhere
    const std::string other = difference(run.plan, batch.header.plan);
    if (!other.empty())
      throw bad_input(batch.file, "contains another sweep: " + other,
                      "use the options that the file was created with, or another -o FILE");
    if (run.cpu != batch.header.cpu && of_this_machine(batch.jobs))
      throw bad_input(
          batch.file,
          fmt::format("was created on another CPU: \"{}\", this is \"{}\"", run.cpu, batch.header.cpu),
          "use another -o FILE; files of several machines can be joined with cat");
  }
}

/// Opens the file and takes in what it holds.
std::unique_ptr<result::Writer> open(const Batch& batch, result::Results& recorded) {
  using Mode = result::Writer::Mode;
  if (batch.file.empty()) return nullptr;
  if (batch.file == "-" || !batch.resume || result::holds_nothing(batch.file))
    return std::make_unique<result::Writer>(batch.file, Mode::create, result::Writer::Resume::possible);
  check_same(batch, result::read(batch.file)); // before a torn line is cut: another's file stays as it is
  auto writer = std::make_unique<result::Writer>(batch.file, Mode::append);
  recorded = result::read(batch.file);
  return writer;
}

/// What is planned, for files that are read while they are incomplete. A witness that speaks for others
/// ("both") leaves no observations of its own name: such a plan is not stated.
void state_plan(result::Run& header, const std::vector<Job>& jobs) {
  std::map<std::string, std::int64_t> planned;
  for (const Job& job : jobs) {
    const auto& witness = witness::find(job.witness);
    if (witness.passes != 1 || witness.recorded_witnesses(job.witness) != std::vector{job.witness}) return;
    ++planned[result::planned_name(job.witness, job.kernel, job.point)];
  }
  if (planned.size() > result::most_planned_names) return;
  header.runs_planned = static_cast<std::int64_t>(jobs.size());
  header.planned = std::move(planned);
}

BatchResult run_missing(const Batch& batch, Listener listener) {
  BatchResult ended;
  const auto writer = open(batch, ended.results);
  const auto left = remaining(batch.jobs, ended.results);
  ended.planned = batch.jobs.size();
  ended.already_recorded = batch.jobs.size() - left.size();
  if (left.empty()) return ended;

  result::Run header = batch.header;
  state_plan(header, batch.jobs);
  if (!ended.results.runs.empty()) header.resumes = ended.results.runs.front().id;
  if (writer) writer->write(header);
  ended.results.runs.push_back(header);
  Execution execution = batch.execution;
  execution.run = header.id;
  listener.observation = [&, then = std::move(listener.observation)](const result::Observation& observation) {
    if (writer) writer->write(observation);
    ended.results.observations.push_back(observation);
    then(observation);
  };
  listener.failure = [&](const result::Failure& failure) {
    if (writer) writer->write(failure);
    ended.results.failures.push_back(failure);
  };
  ended.outcome = execute(left, execution, listener);
  return ended;
}

} // namespace

void declare_runs(command::Options& parser, BatchOptions& options, int default_timeout) {
  parser
      .text("--cpu", options.cpu, "N",
            "measure on this CPU, or none for no pinning (default: the least disturbed)")
      .text("--timeout", options.timeout, "SECONDS",
            fmt::format("time-out per run: wall time (default {}), for the model CPU time (default none)",
                        default_timeout))
      .flag("--resume", options.resume, "resume FILE: run only what is missing")
      .flag("-q,--quiet", options.quiet, "print no progress and no notes");
}

void declare_sharded_runs(command::Options& parser, BatchOptions& options, int default_timeout) {
  parser.text("--seed", options.seed, "N", "seed of the order of the runs (default: random, printed)")
      .text("--shard", options.shard, "K/N",
            "run only part K of N of the points; auto: the task of srun, mpirun or a job array")
      .number("-j,--jobs", options.parallel, "N", "model runs at a time (default: the number of usable CPUs)",
              {1, 10'000});
  declare_runs(parser, options, default_timeout);
}

Batch make_batch(std::string command, const BatchOptions& options, std::chrono::seconds default_timeout,
                 std::uint64_t seed, std::map<std::string, std::string> plan) {
  Batch batch;
  batch.command = std::move(command);
  for (const std::string& file : event::chosen_event_files())
    batch.execution.program.push_back("--events-file=" + file);
  batch.execution.cpu = command::parse_cpu(options.cpu);
  limit_runs(batch.execution, options.timeout, default_timeout);
  batch.execution.parallel = options.parallel > 0
                                 ? static_cast<int>(options.parallel)
                                 : static_cast<int>(std::max<std::size_t>(1, host::candidates().size()));
  batch.shard = parse_shard(options.shard, host::this_job());
  batch.header = witness::machine_header(command::command_line(), RECOUNT_VERSION, batch.execution.cpu);
  batch.header.seed = seed;
  batch.header.plan = std::move(plan);
  state_shard(batch.header, batch.shard);
  batch.file = options.output;
  batch.resume = options.resume;
  batch.quiet = options.quiet;
  return batch;
}

BatchResult run_batch(const Batch& batch) {
  command::catch_stop_signals();
  ProgressLine line(batch.quiet, batch.command);
  bool measured = false;
  Listener listener;
  listener.stop = [] { return command::stop_signal() != 0; };
  listener.progress = [&](const Progress& progress) { line.show(progress); };
  listener.observation = [&](const result::Observation&) { measured = true; };
  const auto print_resume_command = [&] {
    line.clear();
    command::print_resume_command(batch.command, batch.file, batch.header.command, measured);
  };
  try {
    BatchResult ended = run_missing(batch, listener);
    line.clear();
    measured = !ended.results.observations.empty();
    if (ended.outcome.stopped) print_resume_command();
    return ended;
  } catch (const Error&) {
    print_resume_command();
    throw;
  }
}

int exit_status(const Batch& batch, const BatchResult& ended) {
  if (ended.outcome.stopped) return 128 + command::stop_signal();
  const auto& all = ended.results.observations;
  if (std::ranges::any_of(all, [](const auto& o) { return o.value.index() != 0; }))
    return ended.results.failures.empty() ? 0 : 1;
  if (ended.results.failures.empty()) // else failures_text() has the reasons
    command::note("recount {}: nothing was counted: see recount doctor\n", batch.command);
  return 3;
}

void check_memory(const std::vector<Job>& jobs, std::int64_t most, const std::string& setting) {
  std::int64_t largest = 0;
  const Job* where = nullptr;
  for (const Job& job : jobs) {
    if (job.repetition > 0 || !witness::find(job.witness).native) continue;
    if (const auto bytes = kernel::find(job.kernel).bytes(job.point); bytes > largest) {
      largest = bytes;
      where = &job;
    }
  }
  if (largest > most)
    throw Error(ErrorKind::bad_input,
                {where->kernel + " " + result::describe(where->point),
                 Reason(fmt::format("needs {} bytes of memory, more than the {} available", largest, most),
                        setting, "leave out large sizes, or use --witness model, which needs no memory")});
}

std::string unfinished_text(const std::vector<Unfinished>& runs) {
  std::string text;
  for (const auto& run : runs)
    text += fmt::format("stopped: {} {} {}: {:.3g} % simulated\n", run.job.witness, run.job.kernel,
                        result::describe(run.job.point), 100 * run.simulated);
  return text;
}

std::string failures_text(const std::vector<result::Failure>& failures) {
  std::string text;
  for (const auto& [kind, group] : base::grouped(failures, [](const result::Failure& one) {
         return std::tuple(one.witness, one.reason.code, one.reason.cause);
       }))
    text += fmt::format("{} of {} failed: {} (first: {})\n", base::format_count(group.size(), "run"),
                        group.front()->witness, group.front()->reason.text(),
                        result::describe(group.front()->params));
  return text;
}

} // namespace recount::sweep
