// One metric in one place, from the results.
#pragma once

#include "kernel/proofs.hpp"
#include "check/index.hpp"

#include <string>

namespace recount::study {

/// What the witnesses said of the metric where the proof is, and what the proof's kernel states for
/// proof.preset: by closed form, else by the simulation in the results.
[[nodiscard]] analysis::Trial trial_of(const std::string& metric, const kernel::Proof& proof,
                                       const Index& index);

} // namespace recount::study
