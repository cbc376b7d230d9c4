#include "sweep/session.hpp"

#include "kernel/matmul/matmul_point.hpp"
#include "model/accelerated/setwise.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "witness/witness.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

namespace recount::sweep {
namespace {

using Variant = kernel::MatmulPoint::Variant;

/// Processor seconds for two passes: one fills the caches, the other counts.
struct SimulationCost {
  double setwise; ///< set by set: for n = 1000, whose rows of doubles start in 64 places of a page
  double power;   ///< of n, that this grows with
  double replay;  ///< nanoseconds per step of n^3, where every access is replayed
};
struct SimulationRow {
  Variant variant;
  SimulationCost bare, walking; ///< without and with TLBs
  double watched;               ///< like replay, where a prefetcher watches the accesses
};

/// Measured on virtual machines of two Xeon and of two EPYC cores. Set by set: model:i7-9700~no-tlb and
/// model:i7-9700, n = 600 to 3000. Replayed, where sets do not decide for themselves or recur too seldom:
/// model:i7-9700-l3 with its inclusive level, model:ryzen-3700x with its exclusive one, model:i7-9700~no-tlb;
/// n = 400 to 800, of which 601. Watched: model:i7-9700-prefetch, n = 240.
constexpr std::array simulation_rows{SimulationRow{Variant::ijk, {4.5, 1.2, 15}, {6, 3.8, 45}, 370},
                                     SimulationRow{Variant::ijk_mem, {4.8, 1.2, 18}, {5.5, 3.8, 50}, 530},
                                     SimulationRow{Variant::ikj, {2.1, 1.5, 8}, {3.5, 1.7, 20}, 230},
                                     SimulationRow{Variant::transposed, {3.9, 1.1, 8}, {4.2, 1.7, 20}, 290},
                                     SimulationRow{Variant::blocked, {3.3, 1.3, 8}, {4.7, 1.3, 15}, 230}};
constexpr double places_at_1000 = 64;

/// With a third level: factor of the time with two levels, and the thousands of rows in 64 places from which
/// the recorded state exceeds the memory limit. Measured with 2 MiB of L2 and 480 MiB of L3.
constexpr double third_level = 3, most_with_third_level = 1.2;
/// Factor of the time where columns of b meet a hashed TLB level. Measured at n = 1000.
constexpr double hashed_columns = 3;

/// Rows of whole pages all meet the same sets, in the first caches as in TLBs, and nearly everything recurs:
/// seconds for 1000 rows of any variant, n = 1024 to 10240.
constexpr double pages_bare = 0.01, pages_walking = 0.25, pages_with_third_level = 1.5;

/// Number of page offsets at which rows start: the sets of a first level recur with this period. 1 where rows
/// are whole pages, 512 for rows of an odd number of doubles.
double places_of_rows(const kernel::MatmulPoint& at) {
  constexpr std::int64_t page = 4096;
  const std::int64_t places = page / std::gcd(page, at.n * at.element);
  return static_cast<double>(places);
}

/// None where the simulation by sets is likely to be abandoned.
std::optional<double> setwise_seconds(const kernel::MatmulPoint& at, const SimulationRow& row,
                                      const model::MachineDescription& machine) {
  if (!model::Setwise::possible(machine)) return {};
  const bool columns = row.variant == Variant::ijk || row.variant == Variant::ijk_mem;
  const bool hashed = machine.tlb && std::ranges::any_of(machine.tlb->levels, [](const auto& level) {
                        return !level.index.empty();
                      });
  const bool walking = machine.tlb.has_value(), third = machine.levels.size() > 2;
  const double size = static_cast<double>(at.n) / 1000, places = places_of_rows(at);
  if (places == 1) return size * (third ? pages_with_third_level : walking ? pages_walking : pages_bare);
  const double variety = places / places_at_1000;
  if (third && size * variety > most_with_third_level) return {};
  const SimulationCost& cost = walking ? row.walking : row.bare;
  return (third ? third_level : 1) * (columns && hashed ? hashed_columns : 1) * cost.setwise *
         std::pow(size, cost.power) * variety;
}

/// None where the caches of this machine are unknown: the remaining jobs do not need them.
std::optional<model::MachineDescription> simulated_machine(const Job& job) {
  try {
    return model::enough_for(model::machine(witness::modelled_machine(job.witness)), job.metrics);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    return {};
  }
}

} // namespace

double matmul_simulated_seconds(const Job& job) {
  const auto machine = simulated_machine(job);
  if (!machine) return 0;
  const auto at = kernel::matmul_point(kernel::find(job.kernel), job.point);
  const auto* row = std::ranges::find(simulation_rows, at.variant, &SimulationRow::variant);
  const double n = static_cast<double>(at.n);
  const double each = prefetches(*machine) ? row->watched
                      : machine->tlb       ? row->walking.replay
                                           : row->bare.replay;
  const double replayed = 1e-9 * n * n * n * each;
  if (machine->sampled) // at most five windows per sample, each one turn of the outermost loop or less
    return std::min(replayed, 1e-9 * std::clamp(n * n, 9e4, 2.2e7) * 30 * each);
  // What would not be faster set by set is replayed as well.
  return std::min(replayed, setwise_seconds(at, *row, *machine).value_or(replayed));
}

} // namespace recount::sweep
