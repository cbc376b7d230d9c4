#include "study/matmul_simulated.hpp"

#include "kernel/matmul_point.hpp"
#include "model/accelerated/setwise.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "study/matmul.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

namespace recount::study {
namespace {

using Variant = kernel::MatmulPoint::Variant;

/// Processor seconds for two passes: one fills the caches, the other counts.
struct SimulationCost {
  double setwise; ///< set by set: for n = 1000, whose rows of doubles start in 64 places of a page
  double power;   ///< of n, that this grows with
  double replay;  ///< nanoseconds a step of n^3, where every access is replayed
};
struct SimulationRow {
  Variant variant;
  SimulationCost bare, walking; ///< without and with TLBs
};

/// Measured on a virtual machine of two Xeon cores. Set by set: model:i7-9700~no-tlb and model:i7-9700, n =
/// 600 to 3000. Replayed, as no set decides for itself below an inclusive level: model:i7-9700-l3, n = 400
/// and 600.
constexpr std::array simulation_rows{SimulationRow{Variant::ijk, {1.2, 1.8, 40}, {4.9, 3.9, 75}},
                                     SimulationRow{Variant::ijk_mem, {1.2, 1.8, 50}, {4.5, 3.9, 90}},
                                     SimulationRow{Variant::ikj, {0.9, 2.5, 12}, {1.9, 2.7, 15}},
                                     SimulationRow{Variant::transposed, {0.9, 2.5, 14}, {2.4, 2.5, 18}},
                                     SimulationRow{Variant::blocked, {3.3, 1.3, 12}, {4.7, 1.3, 15}}};
constexpr double places_at_1000 = 64;

/// Rows of whole pages all meet the same sets, in caches as in TLBs, and nearly everything recurs: seconds
/// for 1000 rows of any variant, n = 1024 to 10240.
constexpr double whole_pages_bare = 0.01, whole_pages_walking = 0.25;

/// In how many places of a page rows start: after so many of them a first level's sets are met in the same
/// way again. 1 where rows are whole pages, 512 where doubles stand in rows of odd length.
double places_of_rows(const kernel::MatmulPoint& at) {
  constexpr std::int64_t page = 4096;
  return static_cast<double>(page / std::gcd(page, at.n * at.element));
}

double setwise_seconds(const kernel::MatmulPoint& at, const SimulationRow& row, bool walking) {
  const double size = static_cast<double>(at.n) / 1000, places = places_of_rows(at);
  if (places == 1) return size * (walking ? whole_pages_walking : whole_pages_bare);
  const SimulationCost& cost = walking ? row.walking : row.bare;
  return cost.setwise * std::pow(size, cost.power) * places / places_at_1000;
}

/// Nothing where this machine states no caches: what is left then is known without them.
std::optional<model::MachineDescription> simulated_machine(const sweep::Job& job) {
  try {
    return model::enough_for(model::machine(modelled_machine(job.witness)), job.metrics);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    return {};
  }
}

} // namespace

double simulated_seconds(const sweep::Job& job) {
  if (job.kernel != "matmul") return 0;
  const auto machine = simulated_machine(job);
  if (!machine) return 0;
  const auto at = kernel::matmul_point(kernel::find(job.kernel), job.point);
  const auto* row = std::ranges::find(simulation_rows, at.variant, &SimulationRow::variant);
  const bool walking = machine->tlb.has_value();
  const double n = static_cast<double>(at.n);
  const double replayed = 1e-9 * n * n * n * (walking ? row->walking : row->bare).replay;
  // What would not be faster set by set is replayed as well.
  return model::Setwise::possible(*machine) ? std::min(replayed, setwise_seconds(at, *row, walking))
                                            : replayed;
}

} // namespace recount::study
