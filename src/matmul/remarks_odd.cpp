#include "base/format.hpp"
#include "matmul/odd_repetitions.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>

namespace recount::matmul {

std::vector<Remark> odd_ones(const Products& group) {
  const auto odd = odd_repetitions(group);
  if (odd.empty()) return {};
  Remark remark;
  remark.title = "Outliers";
  remark.text =
      fmt::format("{} from the other repetitions. The medians include {}. Find the cause before using {}.",
                  base::format_count(odd.size(), "value differs", "values differ"),
                  odd.size() == 1 ? "it" : "them", odd.size() == 1 ? "it" : "them");
  for (const OddRepetition& one : odd)
    remark.evidence.push_back(
        fmt::format("{}, n = {}, {} {}, repetition {}: {}, {}", loops_name(one.product), one.product.n,
                    one.metric, base::format_witness(one.witness), one.repetition + 1,
                    one.metric.ends_with("seconds") ? base::format_seconds(one.value) + " s"
                                                    : base::format_millions(one.value) + " million",
                    one.what));
  return {remark};
}

} // namespace recount::matmul
