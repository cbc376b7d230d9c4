// How the model simulates the runs of a plan: in samples, and with how many draws of placement.
#pragma once

#include "sweep/sweep_plan.hpp"

#include <map>
#include <string>
#include <vector>

namespace recount::sweep {

inline constexpr const char* sample_help = "simulate loop nests of the model in samples: auto (default: "
                                           "where the complete simulation would take more "
                                           "than a second), always, never";
inline constexpr const char* draws_help =
    "draws of array addresses and physical pages per modelled point (default: one fixed placement)";

/// Throws recount::Error (bad_input) for another word. Empty: auto.
[[nodiscard]] ModelModes parse_modes(const std::string& sample, long draws);

/// The runs that answer a job of the model: one, or one per draw; the parts "~sample" and "~placement=any"
/// are added to the name of its witness. One draw where no draw can change a count. A witness without either
/// part and a native one stay as they are.
[[nodiscard]] std::vector<Job> modelled_jobs(const Job& job, const ModelModes& modes);

/// Adds the options that are not default to the settings of a run.
void add_modes(std::map<std::string, std::string>& settings, const ModelModes& modes);

// Estimated time of simulations.

/// CPU seconds that a job of a model's witness is likely to take, mostly within a factor of three: times that
/// were measured, scaled to the job's size. 0 for what is known without simulating. Throws recount::Error
/// (bad_input) for a machine that is not described.
[[nodiscard]] double simulated_seconds(const Job& job);

/// Seconds that the model's jobs among these take together, `parallel` at a time.
[[nodiscard]] double model_seconds(const std::vector<Job>& jobs, int parallel);

} // namespace recount::sweep
