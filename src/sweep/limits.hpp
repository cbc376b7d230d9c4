// --timeout of the commands that execute runs.
#pragma once

#include "sweep/engine.hpp"

#include <chrono>
#include <string>

namespace recount::sweep {

/// Takes --timeout, in seconds: the wall time of a timed run (`otherwise`, where it is empty) and the CPU
/// time of a model run (no limit, where it is empty).
void limit_runs(Execution& how, const std::string& timeout, std::chrono::seconds otherwise);

} // namespace recount::sweep
