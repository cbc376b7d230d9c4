// The model as a source of readings for the inference of caches.
#pragma once

#include "caches/infer/sampler.hpp"
#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"
#include "result/observation.hpp"

#include <functional>
#include <string>

namespace recount::caches {

/// Reads misses from the simulation of a described machine. Deterministic.
class ModelSampler : public Sampler {
public:
  /// `witness` as in results: "model", "model:i7-9700". `observed` is called with each observation (its run
  /// is left empty); may be absent. Throws recount::Error (bad_input) for a description that model::check()
  /// refuses.
  ModelSampler(const model::MachineDescription& machine, const Witness& witness, std::int64_t most_bytes,
               std::function<void(const result::Observation&)> observed = {});
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;
  /// The abilities of such a sampler, without simulating.
  [[nodiscard]] static Abilities abilities_for(const model::MachineDescription& machine,
                                               const Witness& witness, std::int64_t most_bytes);

private:
  Reading read(const kernel::Pattern& pattern);

  model::Hierarchy caches_;
  std::uint64_t free_ = kernel::assumed_base; ///< nothing at or above it was ever visited
  bool must_clear_ = false;
  Abilities abilities_;
  std::function<void(const result::Observation&)> observed_;
};

} // namespace recount::caches
