#include "caches/measure/study.hpp"

#include "caches/infer/record.hpp"
#include "model/machine.hpp"
#include "process/child.hpp"
#include "process/fd.hpp"
#include "recount/error.hpp"
#include "result/line.hpp"
#include "caches/measure/grid.hpp"
#include "caches/measure/model.hpp"
#include "caches/measure/native.hpp"
#include "caches/measure/request.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::study {

namespace {

using SteadyClock = std::chrono::steady_clock;

bool modelled(const CachesTask& task) {
  return task.witness.starts_with("model");
}

model::MachineDescription machine_of(const CachesTask& task) {
  const std::size_t colon = task.witness.find(':');
  return model::machine(colon == std::string::npos ? "host" : task.witness.substr(colon + 1));
}

std::int64_t largest_private(const analysis::Caches& found) {
  double largest = 0;
  for (const auto& level : found.levels)
    if (level.capacity.value && !level.effective && level.name != "L3")
      largest = std::max(largest, *level.capacity.value);
  return static_cast<std::int64_t>(largest);
}

void ask_model(const CachesTask& task, const std::string& run, const CachesListener& listener) {
  const auto observed = [&](result::Observation o) {
    o.run = run;
    if (listener.observation) listener.observation(o);
  };
  ModelSampler sampler(machine_of(task), task.witness, task.most_bytes, observed);
  const auto found = analysis::infer_caches(sampler, listener.stage);
  if (!task.grid) return;
  if (listener.stage) listener.stage("grid");
  take_grid(task, grid_points(largest_private(found), true), observed);
}

/// The measuring process and what it says.
class Worker {
public:
  Worker(const CachesTask& task, const std::vector<std::string>& program)
      : Worker(task, program, process::Pipe(), process::Pipe()) {}

  [[nodiscard]] bool open() const { return static_cast<bool>(out_); }

  /// The next whole lines; waits a little for them. Empty at its end, too.
  std::string lines() {
    pollfd waits[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    ::poll(waits, 2, 100);
    drain(err_, words_);
    drain(out_, text_);
    const std::size_t end = text_.rfind('\n');
    if (end == std::string::npos) return {};
    std::string whole = text_.substr(0, end + 1);
    text_.erase(0, end + 1);
    return whole;
  }

  /// Once it has closed its output: throws unless it ended well.
  void check_end() {
    const process::Exit exit = child_.wait(std::chrono::seconds(5));
    if (exit.ok()) return;
    while (!words_.empty() && words_.back() == '\n')
      words_.pop_back();
    throw unavailable("recount caches", "the measuring process ended: " + describe(exit) +
                                            (words_.empty() ? "" : "; it said: " + words_));
  }

private:
  Worker(const CachesTask& task, const std::vector<std::string>& program, process::Pipe out,
         process::Pipe err)
      : child_(start(task, program, out.write.get(), err.write.get())),
        out_(std::move(out.read)),
        err_(std::move(err.read)) {
    for (const int fd : {out_.get(), err_.get()})
      ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }

  static process::Child start(const CachesTask& task, const std::vector<std::string>& program, int out,
                              int err) {
    const std::string request = to_caches_request(task);
    const process::Fd in(::memfd_create("recount-request", MFD_CLOEXEC));
    if (!in || ::pwrite(in.get(), request.data(), request.size(), 0) != static_cast<ssize_t>(request.size()))
      throw unavailable("recount caches", std::string("memfd_create: ") + std::strerror(errno));
    process::Spawn spawn;
    spawn.argv = program;
    spawn.in = in.get();
    spawn.out = out;
    spawn.err = err;
    spawn.core_dump = false;
    spawn.cpu = task.cpu;
    spawn.fixed_addresses = true;
    return process::Child(spawn);
  }

  static void drain(process::Fd& fd, std::string& text) {
    char block[1 << 14];
    while (fd) {
      const ssize_t got = ::read(fd.get(), block, sizeof block);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return fd.reset();
      text.append(block, static_cast<std::size_t>(got));
    }
  }

  process::Child child_;
  process::Fd out_, err_;
  std::string text_, words_;
};

void hand_on(const std::string& lines, const std::string& run, const CachesListener& listener) {
  std::size_t at = 0;
  for (std::size_t end = lines.find('\n'); end != std::string::npos;
       at = end + 1, end = lines.find('\n', at)) {
    const std::string_view line = std::string_view(lines).substr(at, end - at);
    if (const auto stage = stage_of(line)) {
      if (listener.stage) listener.stage(*stage);
      continue;
    }
    auto parsed = result::parse_line(line, "the measuring process");
    auto* observation = std::get_if<result::Observation>(&parsed);
    if (observation == nullptr)
      throw bad_input("the measuring process", "said something else than observations");
    observation->run = run;
    if (listener.observation) listener.observation(*observation);
  }
}

constexpr auto time_to_measure = std::chrono::milliseconds(9000); ///< noise may cost so much, and no more
constexpr auto latest_new_look = std::chrono::milliseconds(5000); ///< that ends in time

/// Infers; again from more readings where noise hid something; and once more from what is then on record, as
/// whoever reads it will, so that both come to the same.
analysis::Caches infer_on_record(NativeSampler& sampler, const analysis::Stage& stage) {
  auto found = analysis::infer_caches(sampler, stage);
  while (analysis::worth_another_look(found) && sampler.cpu_time() < latest_new_look) {
    sampler.look_again();
    found = analysis::infer_caches(sampler, stage);
  }
  sampler.keep_to_record();
  return analysis::infer_caches(sampler, {});
}

} // namespace

std::vector<std::string> miss_metrics(const std::string& witness) {
  std::vector<std::string> metrics;
  const auto& by = witness::find(witness);
  for (std::size_t level = 0; level < 2; ++level) {
    const std::string metric = analysis::miss_metric(level);
    if (!by.gives(metric) || !by.missing({metric}).empty()) break;
    metrics.push_back(metric);
  }
  return metrics;
}

analysis::Abilities caches_abilities(const CachesTask& task) {
  if (modelled(task)) return model_abilities(machine_of(task), task.witness, task.most_bytes);
  NativeOptions options;
  options.witness = task.witness;
  options.metrics = task.metrics;
  options.most_bytes = task.most_bytes;
  return native_abilities(options);
}

bool take_readings(const CachesTask& task, const std::string& run, const CachesListener& listener,
                   const std::vector<std::string>& program, std::chrono::seconds limit) {
  if (modelled(task)) {
    ask_model(task, run, listener);
    return true;
  }
  const auto deadline = SteadyClock::now() + limit;
  Worker worker(task, program);
  while (worker.open()) {
    if (listener.stop && listener.stop()) return false;
    if (SteadyClock::now() > deadline)
      throw unavailable("recount caches", fmt::format("not done after {} s", limit.count()), {},
                        "try again when the machine is less busy");
    hand_on(worker.lines(), run, listener);
  }
  worker.check_end();
  return true;
}

int serve_caches(int in, int out) {
  const auto write_line = [out](const std::string& line) {
    std::string_view text = line;
    while (!text.empty()) {
      const ssize_t n = ::write(out, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) ::_exit(3); // nobody listens any more
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  };
  const CachesTask task = read_caches_request(in);
  const auto observed = [&](const result::Observation& o) { write_line(result::to_line(o) + '\n'); };
  const auto stage = [&](const std::string& name) { write_line(stage_line(name) + '\n'); };
  NativeOptions options{task.witness, task.metrics, task.most_bytes, task.seed, time_to_measure, observed};
  NativeSampler sampler(std::move(options));
  const auto found = infer_on_record(sampler, stage);
  if (task.grid) {
    stage("grid");
    take_grid(task, grid_points(largest_private(found), false), observed);
  }
  return 0;
}

} // namespace recount::study
