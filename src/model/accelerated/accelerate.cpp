#include "model/accelerated/accelerate.hpp"

#include "model/accelerated/sampled.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace recount::model {

namespace {

/// Nanoseconds that a replayed access takes on average, as measured for matrix products.
struct Pace {
  double rows;           ///< several turns of an innermost loop on a line
  double columns, alike; ///< other ones, and where turns of a loop around them may recur
};

bool in_rows(const Step& step, std::int64_t line) {
  return std::ranges::all_of(step.body, [&](const Step& inner) { return in_rows(inner, line); }) &&
         std::ranges::all_of(step.accesses,
                             [&](const LeafAccess& access) { return std::abs(access.own) <= line / 4; });
}

bool recurring(const Step& step, std::int64_t line) {
  return !step.leaf && (may_recur(step, line) || std::ranges::any_of(step.body, [&](const Step& inner) {
                          return recurring(inner, line);
                        }));
}

/// Without TLBs, with them, and where one is hashed.
constexpr Pace bare{1.5, 5, 3.5}, walking{1.7, 8, 5}, hashed{1.7, 12, 6};

double replaying(const Program& program, const MachineDescription& machine) {
  const bool scattered = machine.tlb && std::ranges::any_of(machine.tlb->levels, [](const TlbLevel& level) {
                           return !level.index.empty();
                         });
  const Pace& pace = scattered ? hashed : machine.tlb ? walking : bare;
  const std::int64_t line = machine.levels.front().line;
  double sum = 0;
  for (const Step& step : program.steps) {
    Environment variables{};
    sum += (in_rows(step, line)     ? pace.rows
            : recurring(step, line) ? pace.alike
                                    : pace.columns) *
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
