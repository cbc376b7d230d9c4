// Tables, figures, remarks and sections of matrix products.
#pragma once

#include "commands/matmul/derived.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <string>
#include <vector>

namespace recount::matmul {

/// The laboratory's tables: straightforward, transposed, blocked, and both comparisons; 16-bit integers.
/// Empty where the group holds none of these.
[[nodiscard]] std::vector<document::Block> laboratory_tables(const ProductGroup& group);

/// Times, rates, misses, hit rates and speed-ups of products of doubles by size and by block. Empty where
/// there are none.
[[nodiscard]] std::vector<document::Block> doubles_tables(const ProductGroup& group);

/// Published values compared with the values in `all` of the same products, mainly the model of their
/// machine. Empty where nothing was published.
[[nodiscard]] std::vector<document::Block> published_tables(const std::vector<ProductGroup>& all);

// The study in a report.

/// Its section, and all its values at the end.
[[nodiscard]] std::vector<document::Section> product_sections();

// Findings in results of matrix products that a reader of the tables could miss.

struct Remark {
  std::string title;                 ///< "More misses in L2 than in L1"
  std::string text;                  ///< sentences
  std::vector<std::string> evidence; ///< a line each
  bool operator==(const Remark&) const = default;
};

/// The remarks on each group, in the order of the groups: misses out of order, parts of published presets,
/// transposition, speed-ups with fewer hits, jumps in cost, languages, capacities, outliers.
/// The last one lists the differences that the values do not support. Pure.
[[nodiscard]] std::vector<Remark> remarks(const std::vector<ProductGroup>& groups);
/// The same as a heading, a paragraph and a list each.
[[nodiscard]] std::vector<document::Block> remark_blocks(const std::vector<ProductGroup>& groups);

// Figures of matrix products: time, rate, misses and what follows from them, by size and by block.

/// All of them, in the order in which a reader would look at them.
[[nodiscard]] std::vector<plot::Figure> product_figures();

/// One of them; without panels where the results cannot fill it.
[[nodiscard]] plot::Sheet compose_products(const std::string& name, const result::Results& results,
                                           const plot::Choice& choice);

} // namespace recount::matmul
