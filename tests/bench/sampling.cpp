// What sampling costs: the target, for each sample that interrupts it, and the reader, for each that it
// takes. Not a test: prints a table, always exits with 0.
#include "../host/perf/target.hpp"
#include "compare.hpp"

#include <recount/error.hpp>
#include <recount/sampling.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <vector>

using namespace recount;

namespace {

constexpr int rounds = 5;

/// The same work every time; the processor time that it took, in nanoseconds.
double fixed_work() {
  for (volatile int i = 0; i < 1'000'000'000;)
    i = i + 1;
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Ran {
  double target_ns = 0;
  SamplingReport report;
};

/// Samples a child that does the work every `period` nanoseconds of the CPU's clock; 0: not at all.
Ran run(std::uint64_t period) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  Target target([&] {
    const double took = fixed_work();
    if (write(ends[1], &took, sizeof took) != sizeof took) _exit(1);
  });
  std::optional<Sampling> sampling;
  if (period != 0) {
    SamplingOptions options;
    options.pid = target.pid();
    options.inherit = true;
    options.follow = true;
    sampling.emplace(std::vector{SampledEvent{encode("perf::CPU-CLOCK:u"), period, 0, 0}}, options);
    sampling->start();
  }
  target.go();
  while (sampling && sampling->wait(std::chrono::milliseconds(50)))
    sampling->read({});
  Ran ran;
  if (read(ends[0], &ran.target_ns, sizeof ran.target_ns) != sizeof ran.target_ns) ran.target_ns = 0;
  target.join();
  if (sampling) {
    sampling->finish({});
    ran.report = sampling->report();
  }
  close(ends[0]);
  close(ends[1]);
  return ran;
}

} // namespace

int main() {
  try {
    const std::array<std::uint64_t, 4> periods{0, 1'000'000, 50'000, 20'000};
    std::array<std::vector<double>, 4> target;
    std::array<SamplingReport, 4> last;
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < periods.size(); ++i) {
        const Ran ran = run(periods[i]);
        target[i].push_back(ran.target_ns);
        last[i] = ran.report;
      }
    fmt::print("cpu-clock   samples   kHz    lost   target +%   ns/sample   reader ns/sample   reader %\n");
    const double plain = bench::quantile(target[0], 0.0);
    for (std::size_t i = 1; i < periods.size(); ++i) {
      const auto& event = last[i].events[0];
      const auto samples = static_cast<double>(event.samples);
      const double with = bench::quantile(target[i], 0.0), reader = static_cast<double>(last[i].reader_ns);
      fmt::print("{:>6} us {:>10} {:>5.1f} {:>7} {:>11.2f} {:>11.0f} {:>18.0f} {:>10.2f}\n",
                 periods[i] / 1000, event.samples, 1e6 * samples / static_cast<double>(event.running_ns),
                 event.lost.value_or(0), 100 * (with - plain) / plain, (with - plain) / samples,
                 reader / samples, 100 * reader / with);
    }
    return EXIT_SUCCESS;
  } catch (const Error& e) {
    fmt::print(stderr, "SKIP: {}\n", e.what());
    return 77;
  }
}
