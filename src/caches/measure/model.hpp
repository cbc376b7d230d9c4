// The model as a source of readings for the inference of caches.
#pragma once

#include "caches/infer/sampler.hpp"
#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"
#include "result/observation.hpp"

#include <functional>

namespace recount::caches {

/// What the simulation of a machine can tell, without simulating.
[[nodiscard]] Abilities model_abilities(const model::MachineDescription& machine, const std::string& witness,
                                        std::int64_t most_bytes);

/// Reads misses off the simulation of a described machine. Deterministic.
class ModelSampler : public Sampler {
public:
  /// `witness` as it stands in results: "model", "model:i7-9700". Throws recount::Error (bad_input) for a
  /// description that model::check() refuses.
  /// `observed` is called with each observation (its run is left empty); may be absent.
  ModelSampler(const model::MachineDescription& machine, const std::string& witness, std::int64_t most_bytes,
               std::function<void(const result::Observation&)> observed = {});
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;

private:
  Reading read(const kernel::Pattern& pattern);
  model::Hierarchy caches_;
  std::uint64_t free_ = kernel::assumed_base; ///< nothing at or above it was ever visited
  bool must_clear_ = false;
  void report(const kernel::Pattern& pattern, std::int64_t passes, const std::string& metric,
              std::int64_t misses) const;
  Abilities abilities_;
  std::function<void(const result::Observation&)> observed_;
};

} // namespace recount::caches
