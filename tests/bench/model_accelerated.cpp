// How long exact simulation of long loop nests takes, against the limits that it is to keep; and of the
// sweeps of stride, and of a family of caches in one pass. Not a test: it prints tables.
//   bench-model-accelerated RECOUNT [--all]    (--all: with a third level, odd sizes and the largest with
//   TLBs as well, which takes many minutes)
#include "kernel/matmul/matmul_point.hpp"
#include "model/accelerated/accelerate.hpp"
#include "model/family.hpp"
#include "process/child.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <sys/resource.h>
#include <vector>

using namespace recount;

namespace {

/// Of this process, or of the children that it has waited for: other load adds little to it.
double processor_seconds(int who = RUSAGE_SELF) {
  rusage usage{};
  ::getrusage(who, &usage);
  double sum = 0;
  for (const timeval& t : {usage.ru_utime, usage.ru_stime})
    sum += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  return sum;
}

struct Case {
  const char* variant;
  std::int64_t n, block;
  double limit;      ///< seconds; 0: none is asked
  bool always;       ///< without --all too
  bool walks = true; ///< with TLBs without --all too
};
const std::vector<Case> cases = {{"ijk", 1000, 1, 2, true},         {"ikj", 1000, 1, 2, true},
                                 {"ijk", 3000, 1, 15, true, false}, {"ijk", 1400, 1, 15, false},
                                 {"ikj", 3000, 1, 15, true},        {"blocked", 10240, 512, 120, true},
                                 {"ijk", 1001, 1, 0, false},        {"ikj", 1001, 1, 0, false},
                                 {"ijk-mem", 1000, 1, 0, false},    {"transposed", 1000, 1, 0, false}};

/// Levels: 1 to 3, non-inclusive. The first passes are simulated cold.
model::MachineDescription machine(std::size_t levels, bool tlb) {
  auto described = model::machine("i7-9700-l3");
  described.levels.resize(levels);
  for (auto& level : described.levels)
    level.inclusion = model::Inclusion::non_inclusive;
  if (!tlb) described.tlb.reset();
  return described;
}

void simulate(const Case& one, std::size_t levels, bool tlb) {
  const auto described = machine(levels, tlb);
  const auto point = kernel::complete(
      kernel::find("matmul"), {{"variant", std::string(one.variant)}, {"n", one.n}, {"block", one.block}});
  model::Hierarchy caches(described);
  const auto nest = kernel::matmul_nest(point);
  const auto start = std::chrono::steady_clock::now();
  double before = processor_seconds();
  model::NestSimulation simulation(nest, described);
  simulation.run(caches);
  const double took = processor_seconds() - before;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  constexpr std::int64_t most_replayed = 1001; // more would take minutes
  std::string ratio = "-";
  if (one.n <= most_replayed) {
    model::Hierarchy replayed(described);
    model::Acceleration plain;
    plain.setwise = false;
    before = processor_seconds();
    model::NestSimulation(nest, described, plain).run(replayed);
    ratio = fmt::format("{:.1f}", (processor_seconds() - before) / took);
    if (replayed.counts() != caches.counts()) ratio += " OTHER COUNTS";
  }
  const auto counts = caches.counts();
  const auto accesses = static_cast<double>(counts.loads + counts.stores);
  const auto misses = counts.levels[0].missed(model::Cause::load) +
                      counts.levels[0].missed(model::Cause::store) +
                      counts.levels[0].missed(model::Cause::walk);
  fmt::print("{:<10} {:>6} {:>6} {:>7} {:>4} {:>10.2f} {:>8.2f} {:>8} {:>14} {:>12.0f} {:>8} {:>8}{}\n",
             one.variant, one.n, one.block > 1 ? std::to_string(one.block) : "-", levels, tlb ? "yes" : "no",
             took, wall, one.limit > 0 ? fmt::format("< {}", one.limit) : "-", misses, accesses / took / 1e6,
             simulation.setwise() != nullptr ? simulation.setwise()->bytes() >> 20 : 0, ratio,
             one.limit > 0 && took > one.limit ? "   OVER" : "");
  std::fflush(stdout);
}

void sweep(const std::string& program, const std::string& name, std::vector<std::string> options) {
  const process::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC)); // NOLINT
  process::Spawn spawn;
  spawn.argv = {program,
                "sweep",
                "stride",
                "--where",
                "stride<=size/2",
                "--witness",
                "model:i7-9700",
                "--metric",
                "PAPI_L1_DCM,PAPI_L2_DCM",
                "-q"};
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.out = null.get();
  const double before = processor_seconds(RUSAGE_CHILDREN);
  const auto exit = process::Child(spawn).wait(std::chrono::seconds(100));
  const double took = processor_seconds(RUSAGE_CHILDREN) - before;
  fmt::print("{:<58} {:>6.2f} s{}{}\n", name, took, took > 5 ? "   OVER 5 s" : "",
             exit.ok() ? "" : "   FAILED: " + describe(exit));
  std::fflush(stdout);
}

void family() {
  constexpr const char* sizes = "4K:1M/1:16";
  const auto point =
      kernel::complete(kernel::find("matmul"), {{"variant", std::string("ijk")}, {"n", std::int64_t{200}}});
  const auto one = model::machine(std::string("i7-9700~l1=") + sizes);
  model::Hierarchy caches(one);
  double before = processor_seconds();
  kernel::replay_matmul(point, caches);
  const double together = processor_seconds() - before;
  before = processor_seconds();
  for (const auto& member : one.family) {
    model::Hierarchy alone(model::machine("i7-9700~l1=" + model::to_text(member)));
    kernel::replay_matmul(point, alone);
  }
  const double apart = processor_seconds() - before;
  constexpr double accesses = 2.0 * 200 * 200 * 200;
  fmt::print("\n{} caches of {} in one pass, ijk n = 200: {:.2f} s, {:.0f} million accesses/s; one by one "
             "{:.2f} s\n",
             one.family.size(), sizes, together, accesses / together / 1e6, apart);
}

} // namespace

int main(int argc, char** argv) {
  const bool all = argc == 3 && std::string(argv[2]) == "--all";
  if (argc != 2 && !all) {
    fmt::print(stderr, "usage: bench-model-accelerated RECOUNT [--all]\n");
    return 2;
  }
  try {
    fmt::print(
        "Exact simulation of matrix products, caches cold. Seconds are processor time of all threads.\n"
        "Ratio: the time of a replay of every access over that.\n"
        "{:<10} {:>6} {:>6} {:>7} {:>4} {:>10} {:>8} {:>8} {:>14} {:>12} {:>8} {:>8}\n",
        "variant", "n", "block", "levels", "TLB", "seconds", "elapsed", "asked", "L1 misses", "10^6/s", "MiB",
        "ratio");
    for (const Case& one : cases)
      for (std::size_t levels = 2; levels <= (all ? 3 : 2); ++levels)
        for (const bool tlb : {false, true})
          if (all || (one.always && (one.walks || !tlb))) simulate(one, levels, tlb);
    fmt::print("\nMemory of what is remembered: at most about 1 GiB, beside the caches "
               "themselves.\n\n");
    sweep(argv[1], "stride, the laboratory's stopwatch sweep (A), 4K to 4M",
          {"--size", "4K:4M:x2", "--stride", "1:2M:x2", "--rounds", "10"});
    sweep(argv[1], "stride, the laboratory's counters (B), L1: 8K to 64K",
          {"--size", "8K:64K:x2", "--stride", "1:32K:x2", "--rounds", "200"});
    sweep(argv[1], "stride, the laboratory's counters (B), L2: 64K to 1M",
          {"--size", "64K:1M:x2", "--stride", "1:512K:x2", "--rounds", "200"});
    family();
  } catch (const Error& error) {
    fmt::print(stderr, "bench-model-accelerated: {}\n", error.what());
    return error.kind() == ErrorKind::bad_input ? 2 : 3;
  }
  return 0;
}
