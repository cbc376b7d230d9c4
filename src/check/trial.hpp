// One metric in one place, from the results.
#pragma once

#include "check/index.hpp"
#include "kernel/proofs.hpp"

#include <string>

namespace recount::check {

/// The counts of the metric by the witnesses at the point of the proof, and the expected count of its kernel
/// for proof.preset: in closed form, else from the simulation in the results.
[[nodiscard]] Trial trial_of(const std::string& metric, const kernel::Proof& proof, const Index& index);

} // namespace recount::check
