// Tables of matrix products: the laboratory, products of doubles, published values compared with the model.
#pragma once

#include "document/section.hpp"
#include "matmul/products.hpp"
#include "matmul/remarks.hpp"
#include "model/machine.hpp"

#include <vector>

namespace recount::report {

/// The study in a report: its section, and all its values at the end.
[[nodiscard]] std::vector<Section> product_sections();

/// The laboratory's tables: straightforward, transposed, blocked, and both comparisons; 16-bit integers.
/// Empty where the group holds none of these.
[[nodiscard]] std::vector<Block> laboratory(const analysis::Products& group);

/// Tables of products of doubles: times, rates, misses, hit rates and speed-ups of products of doubles by
/// size and by block. Empty where there are none.
[[nodiscard]] std::vector<Block> matmul_tables(const analysis::Products& group);

/// Published values compared with the values in `all` of the same products, mainly the model of their
/// machine. Empty where nothing was published.
[[nodiscard]] std::vector<Block> published(const std::vector<analysis::Products>& all);

/// Remarks as sentences and lists.
[[nodiscard]] std::vector<Block> remarks(const std::vector<analysis::Products>& all);

/// Every value of every repetition, with mean, median and spread.
[[nodiscard]] std::vector<Block> all_values(const analysis::Products& group);

/// Capacities of the machine of a group: as stated in its run, or as described.
[[nodiscard]] analysis::Capacities capacities_of(const analysis::Products& group);

} // namespace recount::report
