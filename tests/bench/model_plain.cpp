// Plain simulation, access by access: recount beside the simple reference of
// the tests and beside cachegrind, by turns in one run. Not a test: it prints a
// table and passes no judgement by exit status.
//   bench-model-plain SUBJECT    (the program that cachegrind watches)
#include "../unit/model/reference.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "compare.hpp"
#include "kernel/matmul/matmul.hpp"
#include "model/hierarchy.hpp"
#include "model/nest_simulation.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using namespace recount;

namespace {

constexpr int rounds = 5, slow_rounds = 3; ///< slow: those that take seconds
constexpr std::int64_t n = 300;

model::MachineDescription machine(std::size_t levels) {
  model::MachineDescription all;
  all.name = "bench";
  for (const auto& [size, ways] :
       {std::pair{32 << 10, 8}, std::pair{256 << 10, 4}, std::pair{12 << 20, 12}}) {
    model::LevelDescription level;
    level.size = size;
    level.ways = ways;
    all.levels.push_back(level);
  }
  all.levels.resize(levels);
  return all;
}

/// Processor time of this process and of the children that it has waited for:
/// other load adds little to it.
double processor_seconds() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  }
  return sum;
}

double seconds(const std::function<void()>& what) {
  const double before = processor_seconds();
  what();
  return processor_seconds() - before;
}

/// The accesses of ijk, into anything that loads and stores.
template <class Simulator>
void replay(Simulator& simulator) {
  const std::uint64_t a = kernel::assumed_base + 16, bytes = n * n * 8,
                      pitch = (bytes + 16 + 4095) / 4096 * 4096, b = a + pitch, c = b + pitch;
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      for (std::uint64_t k = 0; k < n; ++k) {
        simulator.load(a + 8 * (i * n + k), 8);
        simulator.load(b + 8 * (k * n + j), 8);
      }
      simulator.store(c + 8 * (i * n + j), 8);
    }
}

/// As `recount sweep` replays where nothing can be skipped: runs on a line at
/// once.
void replay_runs(model::Hierarchy& caches) {
  const auto point = kernel::complete(kernel::find("matmul"), {{"variant", std::string("ijk")}, {"n", n}});
  model::simulate_nest(kernel::matmul_nest(point), caches);
}

/// Runs a program with nothing to say; false when it could not.
bool quiet_run(const std::vector<std::string>& argv) {
  const process::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC)); // NOLINT
  process::Spawn spawn;
  spawn.argv = argv;
  spawn.out = spawn.err = null.get();
  try {
    return process::Child(spawn).wait(std::chrono::seconds(120)).ok();
  } catch (const process::CannotRun&) {
    return false;
  }
}

std::string valgrind_version() {
  process::Pipe pipe;
  process::Spawn spawn;
  spawn.argv = {"valgrind", "--version"};
  spawn.out = pipe.write.get();
  try {
    process::Child child(spawn);
    pipe.write.reset();
    char text[64] = {};
    const ssize_t got = ::read(pipe.read.get(), text, sizeof text - 1);
    if (!child.wait(std::chrono::seconds(20)).ok() || got <= 0) return {};
    return {text, static_cast<std::size_t>(got) - 1};
  } catch (const process::CannotRun&) {
    return {};
  }
}

/// False when it did not run to its end.
bool watched(const std::string& subject, std::int64_t size) {
  return quiet_run({"valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null",
                    "--D1=32768,8,64", "--LL=262144,4,64", subject, "ijk", std::to_string(size)});
}

struct Row {
  std::string name;
  std::vector<double> times;
};

double median(std::vector<double> of) {
  return bench::quantile(of, 0.5);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench-model-plain SUBJECT\n");
    return 2;
  }
  const std::string subject = argv[1], version = valgrind_version();
  std::vector<Row> rows = {{"recount, access by access, 3 levels", {}},
                           {"recount, runs on a line at once, 3 levels", {}},
                           {"the reference of the tests, 3 levels", {}},
                           {"recount, access by access, 2 levels", {}},
                           {"recount, runs on a line at once, 2 levels", {}}};
  const double accesses = 2.0 * n * n * n + n * n;
  std::vector<double> whole, start_up;
  bool ran = true;
  for (int round = 0; round < rounds; ++round) {
    model::Hierarchy three(machine(3)), three_runs(machine(3)), two(machine(2)), two_runs(machine(2));
    rows[0].times.push_back(seconds([&] { replay(three); }));
    rows[1].times.push_back(seconds([&] { replay_runs(three_runs); }));
    rows[3].times.push_back(seconds([&] { replay(two); }));
    rows[4].times.push_back(seconds([&] { replay_runs(two_runs); }));
    if (round >= slow_rounds) continue;
    reference::Simulator simple(machine(3));
    rows[2].times.push_back(seconds([&] { replay(simple); }));
    if (!(simple.counts == three.counts()) || !(three.counts() == three_runs.counts()))
      fmt::print("THE COUNTS DIFFER\n");
    if (version.empty() || !ran) continue;
    whole.push_back(seconds([&] { ran = watched(subject, n); }));
    start_up.push_back(seconds([&] { watched(subject, 0); }));
  }
  fmt::print("Plain simulation of ijk, n = {} ({:.0f} million accesses), LRU "
             "32K/8, 256K/4, 12M/12; medians "
             "of {} to "
             "{} rounds by turns.\n{:<44} {:>11} {:>10}\n",
             n, accesses / 1e6, slow_rounds, rounds, "", "processor s", "10^6/s");
  const auto print = [&](const std::string& name, double time) {
    fmt::print("{:<44} {:>11.3f} {:>10.0f}\n", name, time, accesses / time / 1e6);
  };
  for (const Row& row : rows)
    print(row.name, median(row.times));
  const double reference = median(rows[2].times);
  fmt::print("over the reference, 3 levels: {:.1f} times access by access, "
             "{:.1f} times in runs (at least 2 "
             "asked)\n",
             reference / median(rows[0].times), reference / median(rows[1].times));
  if (version.empty()) {
    fmt::print("SKIP: cachegrind (no valgrind here)\n");
    return 0;
  }
  if (!ran) {
    fmt::print("SKIP: valgrind --tool=cachegrind {} failed\n", subject);
    return 0;
  }
  const double theirs = median(whole) - median(start_up);
  print("cachegrind (" + version + "), start-up subtracted, 2 levels", theirs);
  fmt::print("over cachegrind, which has two levels of data cache: {:.1f} "
             "times access by access, {:.1f} times in "
             "runs; with a third level in recount {:.1f} and {:.1f} (at least "
             "3 asked). Cachegrind executes the\n"
             "program and simulates its instructions as well.\n",
             theirs / median(rows[3].times), theirs / median(rows[4].times), theirs / median(rows[0].times),
             theirs / median(rows[1].times));
  return 0;
}
