// Overhead of a sweep per run, without the kernel: starting the process, handing over the task,
// taking in and writing the observations. Not a test: prints a table, always exits with 0.
//   bench-engine RECOUNT    (the program whose runs are timed)
#include "run/engine.hpp"
#include "base/host/pmu.hpp"
#include "base/statistics/statistics.hpp"
#include "run/batch.hpp"
#include "run/sweep_plan.hpp"
#include "run/witness/backend.hpp"
#include "show/command/batch.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sys/resource.h>
#include <unistd.h>

using namespace recount;

namespace {

sweep::Batch make_batch(const sweep::Plan& plan, const sweep::Execution& how, const std::string& file) {
  sweep::Batch batch;
  batch.jobs = schedule(plan, expand(plan, kernel::find(plan.kernel)));
  batch.execution = how;
  batch.header = result::new_run();
  batch.header.plan = settings(plan);
  batch.file = file;
  batch.quiet = true;
  return batch;
}

struct Case {
  const char* witness;
  std::vector<std::string> metrics;
};

constexpr int repeat = 60;
constexpr double limit_ms = 20;

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// Processor time of this process and of all its children so far: independent of other load, unlike wall
/// time.
double cpu_ms() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  }
  return sum;
}

/// One point, repeated, of the smallest kernel: the wall time is nearly all overhead.
void measure(const std::string& program, const std::string& folder, const Case& one) {
  const auto& witness = witness::find(one.witness);
  if (const Reason why = witness.missing(one.metrics); !why.empty()) {
    fmt::print("{:<16} SKIP: {}\n", one.witness, why.text());
    return;
  }
  const auto& kernel = kernel::find("stride");
  sweep::Plan plan;
  plan.kernel = kernel.name();
  // The model runs each point once: it gets as many points as the others get repetitions.
  plan.axes = {
      sweep::parse_axis(kernel, "size", witness.native ? "4K" : fmt::format("4K:{}:1", 4095 + repeat)),
      sweep::parse_axis(kernel, "stride", "64"), sweep::parse_axis(kernel, "rounds", "1")};
  plan.witnesses = {one.witness};
  plan.metrics = one.metrics;
  plan.repeat = repeat;
  sweep::Execution how;
  how.program = {program, "run-point"};
  how.cpu = host::best_cpu(host::candidates());
  const sweep::Batch batch = make_batch(plan, how, folder + "/" + one.witness);
  const double before = cpu_ms();
  const auto ended = command::run_batch(batch);
  const double cpu = cpu_ms() - before;
  std::vector<double> overheads;
  for (const auto overhead : ended.outcome.overheads)
    overheads.push_back(ms(overhead));
  const auto s = statistics::summarise(overheads);
  const auto runs = static_cast<double>(ended.outcome.runs);
  fmt::print("{:<16} {:>5} {:>9.2f} {:>9.2f} {:>9.2f} {:>11.2f} {:>11.2f}   {}\n", one.witness, s.n, s.median,
             s.min, s.p90, ms(ended.outcome.elapsed) / runs, cpu / runs,
             s.median < limit_ms ? "below 20 ms" : "OVER 20 ms");
}

/// Wall time of a sweep by the model, `parallel` runs at a time.
double model_ms(const std::string& program, int parallel) {
  const auto& kernel = kernel::find("matmul");
  sweep::Plan plan;
  plan.kernel = kernel.name();
  plan.axes = {sweep::parse_axis(kernel, "n", "201:239:2")};
  plan.witnesses = {"model:i7-9700"};
  plan.metrics = {"PAPI_L1_DCM"};
  sweep::Execution how;
  how.program = {program, "run-point"};
  how.parallel = parallel;
  const sweep::Batch batch = make_batch(plan, how, "");
  return ms(command::run_batch(batch).outcome.elapsed);
}

/// How much faster 20 simulations of 0.1 s or more are on several CPUs: time on 1 / (CPUs x time on all).
void measure_scaling(const std::string& program) {
  constexpr int rounds = 3;
  const auto cpus = static_cast<int>(host::candidates().size());
  fmt::print("\nModel sweep, 20 points, minimum of {} rounds:\n{:<16} {:>9} {:>11}\n", rounds, "--jobs", "ms",
             "efficiency");
  double alone = 0;
  for (int jobs = 1; jobs <= cpus; jobs *= 2) {
    double least = model_ms(program, jobs);
    for (int round = 1; round < rounds; ++round)
      least = std::min(least, model_ms(program, jobs));
    if (jobs == 1) alone = least;
    fmt::print("{:<16} {:>9.0f} {:>11.2f}\n", jobs, least, alone / least / jobs);
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench-engine RECOUNT\n");
    return 2;
  }
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("recount-bench-engine-{}", ::getpid());
  int status = 0;
  try {
    std::filesystem::create_directories(folder);
    double load = 0;
    static_cast<void>(::getloadavg(&load, 1));
    fmt::print(
        "The sweep engine's own time for each run, in ms: wall time less preparing, warming and observing "
        "the\n"
        "kernel. \"CPU\" is the processor time of the whole run, kernel and witness included. Load average "
        "{:.1f}:\nabove the number of CPUs, wall times are mostly waiting.\n{:<16} {:>5} {:>9} {:>9} {:>9} "
        "{:>11} "
        "{:>11}\n",
        load, "witness", "runs", "median", "min", "p90", "whole run", "CPU");
    for (const auto& one : {Case{"clock", {"seconds", "tsc_cycles"}}, Case{"perf", {"perf::PAGE-FAULTS"}},
                            Case{"papi", {"perf::PAGE-FAULTS"}}, Case{"model:i7-9700", {"PAPI_L1_DCM"}}})
      measure(argv[1], folder.string(), one);
    measure_scaling(argv[1]);
  } catch (const Error& error) {
    fmt::print(stderr, "bench-engine: {}\n", error.what());
    status = error.kind() == ErrorKind::bad_input ? 2 : 3;
  }
  std::filesystem::remove_all(folder);
  return status;
}
