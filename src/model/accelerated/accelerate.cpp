#include "model/accelerated/accelerate.hpp"

#include <limits>

namespace recount::model {

NestSimulation::NestSimulation(const Nest& nest, const MachineDescription& machine, const Acceleration& how)
    : program_(prepare(nest)),
      how_(how),
      plain_((machine.tlb ? 8.0 : 4.0) * static_cast<double>(accesses(program_))),
      replay_(program_) {
  if (how.setwise && Setwise::possible(machine) && aligned(nest, machine.levels.front().line) &&
      program_.most_accesses < StrandTime::accesses)
    setwise_.emplace(machine, program_, how.limits);
}

void NestSimulation::run(Hierarchy& caches) {
  if (setwise_ && !setwise_->run(caches, how_.always ? std::numeric_limits<double>::infinity() : plain_))
    setwise_.reset();
  else if (setwise_)
    return;
  replay_.run(caches);
}

} // namespace recount::model
