// A metric of the model that only misses change, read without evaluating all metrics.
#pragma once

#include "model/hierarchy.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recount::trace {

/// PAPI_L1_DCM, PAPI_L2_LDM, PAPI_TLB_DM, MODEL_L1_WRITE_BACKS ...: a linear combination of counts that do
/// not change on accesses that hit in L1 and in the first TLB level.
class MissMetric {
public:
  /// Throws recount::Error (bad_input) if the machine does not have the metric or hits change it.
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
