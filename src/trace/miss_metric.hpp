// A metric of the model that changes with misses, cheap to read.
#pragma once

#include "model/hierarchy.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::trace {

/// PAPI_L1_DCM, PAPI_L2_LDM, PAPI_TLB_DM, MODEL_L1_WRITE_BACKS ...: a sum over counts that stay the same
/// while accesses hit in the first cache and the first TLB level.
class MissMetric {
public:
  /// Throws recount::Error (bad_input) for a metric that the machine does not have or that changes with hits.
  MissMetric(std::string name, const model::MachineDescription& machine);
  [[nodiscard]] std::int64_t value(const model::Hierarchy& caches) const;
  [[nodiscard]] const std::string& name() const { return name_; }

private:
  struct Term {
    bool tlb;
    std::size_t level, field; ///< field: of model::LevelCounts::fields()
    std::int64_t factor;
  };
  void add_terms(const model::MachineDescription& machine, bool tlb);
  std::string name_;
  std::vector<Term> terms_;
};

} // namespace recount::trace
