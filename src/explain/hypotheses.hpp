// The hypotheses of recount explain, as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recount::explain {

/// A set of machine options that decides PAPI_L1_DCM.
struct MachineHypothesis {
  std::string machine; ///< as after "model:"
  bool huge = false;   ///< the data are in huge pages
  std::string claim;
  [[nodiscard]] std::string pages() const { return huge ? "huge pages" : "4 KiB pages"; }
};

/// What a preset of L2 counts, as multiples of the lines that must come from outside.
struct CountHypothesis {
  std::string name;
  double least = 0, most = 0;
  std::string claim;
};

/// How far the model may be off for some loops from a size on, as a share.
struct Allowance {
  std::string loops;
  std::int64_t from = 0;
  double share = 0;
};

struct Hypotheses {
  std::vector<MachineHypothesis> machines;
  std::vector<CountHypothesis> counts;
  std::vector<Allowance> allowances;

  /// Of the last row that applies; 0: there is none.
  [[nodiscard]] double allowance(const std::string& loops, std::int64_t n) const;
};

/// Rows "L1 | ...", "L2 | ..." and "allowance | ...", as in data/hypotheses.txt. Throws recount::Error
/// (bad_input) naming the line. Machines are not looked up.
[[nodiscard]] Hypotheses parse_hypotheses(std::string_view text, const std::string& file);
/// The shipped ones.
[[nodiscard]] const Hypotheses& shipped_hypotheses();

} // namespace recount::explain
