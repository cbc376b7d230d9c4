#include "sweep/model_modes.hpp"

#include "base/nearest.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "sweep/model_time.hpp"
#include "witness/witness.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::sweep {
namespace {

constexpr double longest_complete = 1; ///< seconds of a simulation that is not sampled by default

const std::vector<std::string> sample_words{"auto", "always", "never"};

bool wants_samples(const Job& job, const ModelModes& modes) {
  const bool nest = job.kernel == "matmul" || job.kernel == "nest";
  if (!nest || modes.sample == ModelModes::Sample::never) return false;
  return modes.sample == ModelModes::Sample::always || simulated_seconds(job) > longest_complete;
}

} // namespace

ModelModes parse_modes(const std::string& sample, long draws) {
  ModelModes modes;
  modes.draws = static_cast<int>(draws);
  if (sample.empty()) return modes;
  const auto word = std::ranges::find(sample_words, sample);
  if (word == sample_words.end())
    throw bad_input("--sample " + sample, "unknown word", base::did_you_mean_or_all(sample, sample_words));
  modes.sample = static_cast<ModelModes::Sample>(word - sample_words.begin());
  return modes;
}

std::vector<Job> modelled_jobs(const Job& job, const ModelModes& modes) {
  if (witness::find(job.witness).native) return {job};
  const std::string name = witness::modelled_machine(job.witness);
  model::MachineDescription machine;
  try {
    machine = model::enough_for(model::machine(name), job.metrics);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    return {job}; // closed forms only
  }
  if (!machine.family.empty()) return {job};
  const bool drawn = modes.draws > 0 && model::depends_on_placement(machine) &&
                     kernel::find_configured(job.kernel, job.point).unsimulated().empty();
  Job one = job;
  if (drawn && !machine.placement) one.witness = "model:" + name + "~placement=any";
  if (!machine.sampled && wants_samples(one, modes))
    one.witness = "model:" + witness::modelled_machine(one.witness) + "~sample";
  std::vector<Job> all(drawn ? static_cast<std::size_t>(modes.draws) : 1, one);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].repetition = static_cast<int>(i);
  return all;
}

void add_modes(std::map<std::string, std::string>& settings, const ModelModes& modes) {
  if (modes.sample != ModelModes::Sample::automatic)
    settings["--sample"] = sample_words[static_cast<std::size_t>(modes.sample)];
  if (modes.draws > 0) settings["--draws"] = std::to_string(modes.draws);
}

} // namespace recount::sweep
