// Repetitions numbered over all runs of a machine.
#pragma once

#include "result/results_file.hpp"

#include <map>
#include <string>

namespace recount::matmul {

/// What to add to the repetitions of each run, by its id. A run that repeats what earlier runs of its machine
/// measured is another study, and its repetitions follow theirs; one that repeats nothing completes them, as
/// a resumed run does. Without this the metrics of two studies would be paired by repetition.
[[nodiscard]] std::map<std::string, int> first_repetitions(const result::Results& results);

} // namespace recount::matmul
