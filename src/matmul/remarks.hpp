// Findings in results of matrix products that a reader of the tables could miss.
#pragma once

#include "document/document.hpp"
#include "matmul/products.hpp"

#include <string>
#include <vector>

namespace recount::matmul {

struct Remark {
  std::string title;                 ///< "More misses in L2 than in L1"
  std::string text;                  ///< sentences
  std::vector<std::string> evidence; ///< a line each
};

/// The remarks on each group, in the order of the groups: misses out of order, parts of published presets,
/// transposition, speed-ups with fewer hits, jumps in cost, languages, capacities, outliers.
/// The last one lists the differences that the values do not support. Pure.
[[nodiscard]] std::vector<Remark> remarks(const std::vector<ProductGroup>& groups);
/// The same as a heading, a paragraph and a list each.
[[nodiscard]] std::vector<document::Block> remark_blocks(const std::vector<ProductGroup>& groups);

} // namespace recount::matmul
