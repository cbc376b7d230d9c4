#include "sweep/session.hpp"

#include "kernel/nest/nest_kernel.hpp"
#include "model/accelerated/setwise.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "witness/witness.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace recount::sweep {
namespace {

/// Of two passes: one fills the caches, the other counts. Measured on a virtual machine of two Xeon cores
/// with the shipped nests on model:i7-9700~no-tlb, model:i7-9700 and model:i7-9700-l3.
struct NestTime {
  double row, column; ///< nanoseconds per access that is replayed, along rows and in columns
  double turn;        ///< where equal work is simulated once: per turn of a loop that holds loops
};
constexpr NestTime bare{4.5, 35, 1200}, walking{4.5, 50, 4000};
/// With prefetchers, where nothing is simulated once for all: as `ijk` and `ikj` of the built-in products.
constexpr NestTime watched{75, 295, 0};

/// The turn is that of rows that start in 64 places of a page; with a third level it takes longer, and from
/// so many turns on the recorded state exceeds the memory limit.
constexpr double places_of_turn = 64, factor_of_third_level = 3, most_turns_with_third_level = 1.4e6;
/// Factor of the time of a turn with columns and a hashed TLB, where they recur less. Measured with `ijk`, n
/// = 1400.
constexpr double hashed_turns = 10;
constexpr double least_window = 2e5, most_window = 5e7, windows = 30; ///< of samples, in accesses

/// Number of page offsets at which rows start; the largest of all arrays.
double places_of_rows(const nest::Point& at) {
  constexpr std::int64_t page = 4096;
  std::int64_t most = 1;
  for (const auto& array : at.arrays())
    for (const std::int64_t stride : array.strides)
      if (stride > 1) most = std::max(most, page / std::gcd(page, stride * nest::bytes(array.type)));
  return static_cast<double>(most);
}

double seconds(const nest::Point& at, const model::MachineDescription& machine) {
  const NestTime& time = prefetches(machine) ? watched : machine.tlb ? walking : bare;
  const nest::Estimate& work = at.estimate();
  const double replayed =
      1e-9 * (time.row * (work.accesses - work.in_columns) + time.column * work.in_columns);
  if (machine.sampled) // a window is a turn of an outer loop
    return std::min(1.0, windows * std::clamp(std::pow(work.accesses, 2.0 / 3), least_window, most_window) /
                             work.accesses) *
           replayed;
  const double turns = work.outer_turns * places_of_rows(at) / places_of_turn;
  const bool hashed = machine.tlb && std::ranges::any_of(machine.tlb->levels, [](const auto& level) {
                        return !level.index.empty();
                      });
  const bool third = machine.levels.size() > 2;
  // What would not be faster is replayed as well.
  if (!model::Setwise::possible(machine) || (third && turns > most_turns_with_third_level)) return replayed;
  constexpr double few = 0.05;
  const double factor = (third ? factor_of_third_level : 1) *
                        (hashed && work.in_columns > few * work.accesses ? hashed_turns : 1);
  return std::min(replayed, 1e-9 * time.turn * turns * factor);
}

} // namespace

double nest_simulated_seconds(const Job& job) {
  try {
    const auto machine =
        model::enough_for(model::machine(witness::modelled_machine(job.witness)), job.metrics);
    const auto& kernel = kernel::find_configured(job.kernel, job.point);
    const auto at = dynamic_cast<const kernel::NestKernel&>(kernel).at(job.point);
    return seconds(at, machine);
  } catch (const Error& error) { // this machine states no caches: nothing is simulated
    if (error.kind() != ErrorKind::unavailable) throw;
    return 0;
  }
}

} // namespace recount::sweep
