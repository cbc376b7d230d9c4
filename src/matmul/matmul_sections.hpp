// Tables of matrix products: the laboratory, products of doubles, published values compared with the model.
#pragma once

#include "document/section.hpp"
#include "matmul/products.hpp"
#include "matmul/remarks.hpp"
#include "model/machine.hpp"

#include <vector>

namespace recount::matmul {

/// The study in a report: its section, and all its values at the end.
[[nodiscard]] std::vector<document::Section> product_sections();

/// The laboratory's tables: straightforward, transposed, blocked, and both comparisons; 16-bit integers.
/// Empty where the group holds none of these.
[[nodiscard]] std::vector<document::Block> laboratory(const Products& group);

/// Tables of products of doubles: times, rates, misses, hit rates and speed-ups of products of doubles by
/// size and by block. Empty where there are none.
[[nodiscard]] std::vector<document::Block> matmul_tables(const Products& group);

/// Published values compared with the values in `all` of the same products, mainly the model of their
/// machine. Empty where nothing was published.
[[nodiscard]] std::vector<document::Block> published(const std::vector<Products>& all);

/// Remarks as sentences and lists.
[[nodiscard]] std::vector<document::Block> remarks(const std::vector<Products>& all);

/// Every value of every repetition, with mean, median and spread.
[[nodiscard]] std::vector<document::Block> all_values(const Products& group);

/// Capacities of the machine of a group: as stated in its run, or as described.
[[nodiscard]] Capacities capacities_of(const Products& group);

} // namespace recount::matmul
