#include "model/accelerated/accelerate.hpp"

#include "model/accelerated/sampled.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace recount::model {

namespace {

/// Nanoseconds that a replayed access takes, as measured for matrix products.
struct Pace {
  double rows, columns; ///< several turns on a line, and other ones
};

bool in_rows(const Step& step, std::int64_t line) {
  return std::ranges::all_of(step.body, [&](const Step& inner) { return in_rows(inner, line); }) &&
         std::ranges::all_of(step.accesses,
                             [&](const LeafAccess& access) { return std::abs(access.own) <= line / 4; });
}

/// Without TLBs, with them, and where one is hashed.
constexpr Pace bare{1.2, 4}, walking{2, 8}, hashed{2, 15};

double replaying(const Program& program, const MachineDescription& machine) {
  const bool scattered = machine.tlb && std::ranges::any_of(machine.tlb->levels, [](const TlbLevel& level) {
                           return !level.index.empty();
                         });
  const Pace& pace = scattered ? hashed : machine.tlb ? walking : bare;
  double sum = 0;
  for (const Step& step : program.steps) {
    Environment variables{};
    sum += (in_rows(step, machine.levels.front().line) ? pace.rows : pace.columns) *
           static_cast<double>(accesses({step}, variables));
  }
  return sum;
}

} // namespace

NestSimulation::NestSimulation(const Nest& nest, const MachineDescription& machine, const Acceleration& how)
    : program_(prepare(nest)),
      how_(how),
      sampled_(machine.sampled && SampledReplay(program_).worth()),
      plain_(replaying(program_, machine)),
      replay_(program_) {
  if (!sampled_ && how.setwise && Setwise::possible(machine) && aligned(nest, machine.levels.front().line) &&
      program_.most_accesses < TraceTime::accesses)
    setwise_.emplace(machine, program_, how.limits);
}

void NestSimulation::run(Hierarchy& caches) {
  if (sampled_) return SampledReplay(program_).run(caches);
  if (setwise_ && !setwise_->run(caches, how_.always ? std::numeric_limits<double>::infinity() : plain_))
    setwise_.reset();
  else if (setwise_)
    return;
  replay_.run(caches);
}

} // namespace recount::model
