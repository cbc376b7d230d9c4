// What a start, a stop and a read cost straight from Linux (recount::Group) and through PAPI, side by side in
// one run. Not a test: it prints a table and passes no judgement by exit status.
#include "compare.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace recount;
using bench::Compared;

namespace {

const std::array<std::string, 4> names{"perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS",
                                       "perf::MINOR-FAULTS"};
constexpr int rounds = 1000, batch = 32;

void row(std::size_t events, const char* what, const Compared& c) {
  fmt::print("{:>6}  {:<22} {:>9.0f} {:>9.0f} {:>10.2f}   {:.2f} ... {:.2f}\n", events, what, c.raw_ns,
             c.papi_ns, c.ratio, c.low, c.high);
}

/// Prints the rows for so many events; returns the ratio of the reads.
double compare(std::size_t events) {
  const std::vector<std::string> some(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(events));
  Group raw(some, Domain::user);
  PapiSet papi(some, Domain::user);
  std::array<long long, names.size()> values{};

  raw.start();
  papi.start();
  const Compared read = bench::compare(
      rounds, batch, [&] { raw.read(); }, [&] { papi.read(values); });
  raw.stop();
  papi.stop(values);
  row(events, "read", read);

  // PAPI zeroes at start and gives the values at stop, so the same work is done raw.
  row(events, "start, stop with values",
      bench::compare(
          rounds, batch,
          [&] {
            raw.reset();
            raw.start();
            raw.stop();
            raw.read();
          },
          [&] {
            papi.start();
            papi.stop(values);
          }));
  row(events, "start, read, stop",
      bench::compare(
          rounds, batch,
          [&] {
            raw.start();
            raw.read();
            raw.stop();
          },
          [&] {
            papi.start();
            papi.read(values);
            papi.stop(values);
          }));
  return read.ratio;
}

} // namespace

int main() {
  try {
    fmt::print(
        "Median of {} rounds of {} operations each, raw and PAPI by turns; software events, user domain.\n\n",
        rounds, batch);
    fmt::print("events  operation                 raw ns   PAPI ns   raw/PAPI   p10 ... p90\n");
    double worst = 0;
    for (const std::size_t events : {1U, 2U, 4U})
      worst = std::max(worst, compare(events));
    fmt::print("\nA raw read costs at most {:.2f} of PAPI's.\n", worst);
    return EXIT_SUCCESS;
  } catch (const Error& e) {
    fmt::print(stderr, "SKIP: {}\n", e.what());
    return 77;
  }
}
