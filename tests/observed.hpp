// A value as a results file of a test has it.
#pragma once

#include "run/result/observation.hpp"

namespace recount::test {

/// Of run "R"; without a value it has a reason.
inline result::Observation observed(std::string kernel, result::Params point, Witness witness,
                                    std::string metric, result::Number value, int repetition = 0) {
  result::Observation o;
  o.run = "R";
  o.kernel = std::move(kernel);
  o.params = std::move(point);
  o.repetition = repetition;
  o.witness = std::move(witness);
  o.metric = std::move(metric);
  o.value = value;
  if (value.index() == 0) o.reason = "no such event here";
  return o;
}

} // namespace recount::test
