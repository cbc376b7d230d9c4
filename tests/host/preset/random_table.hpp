// Random preset tables over software events: every derived type, nesting, and much that is wrong.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace recount::test {

struct RandomTable {
  std::string text;
  std::vector<std::string> names; ///< presets it may define, as PAPI can be asked for them
};

/// `cpu` and `type`: what PAPI takes for the core PMU here.
RandomTable random_table(std::mt19937& random, const std::string& cpu, int type);

} // namespace recount::test
