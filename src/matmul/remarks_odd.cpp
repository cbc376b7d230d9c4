#include "base/format.hpp"
#include "matmul/odd_repetitions.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>

namespace recount::analysis {

std::vector<Remark> odd_ones(const Products& group) {
  const auto odd = odd_repetitions(group);
  if (odd.empty()) return {};
  Remark remark;
  remark.title = "Repetitions unlike their siblings";
  remark.text =
      fmt::format("{} values break the pattern of the other repetitions. They are part of the means, and "
                  "the medians hardly see them; what made them so should be known before they are used.",
                  odd.size());
  for (const OddRepetition& one : odd)
    remark.evidence.push_back(fmt::format(
        "{}, n = {}, {} {}, repetition {}: {}, {}", loops_name(one.product), one.product.n, one.metric,
        show_witness(one.witness), one.repetition + 1,
        one.metric == "seconds" ? show_seconds(one.value) + " s" : show_millions(one.value) + " million",
        one.what));
  return {remark};
}

} // namespace recount::analysis
