// A product of two square matrices as studies compare it: which loops, how built, how large.
#pragma once

#include "result/observation.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace recount::matmul {

struct Product {
  std::string variant;     ///< "ijk", "blocked" ... as the kernel matmul names them; "dgemm"
  std::string build;       ///< empty: the plain build; "vectorised", or another language: "Java"
  std::string element;     ///< "f64" or "i16"
  std::int64_t n = 0;      ///< rows and columns
  std::int64_t block = 0;  ///< rows and columns of a block; 0: no blocks
  bool transposes = false; ///< the measurement includes a transposition
  auto operator<=>(const Product&) const = default;

  [[nodiscard]] std::int64_t element_bytes() const { return element == "i16" ? 2 : 8; }
  /// Multiplications and additions; those of integers are counted alike.
  [[nodiscard]] double operations() const;
};

/// The product that a kernel computes at a point; nothing when it multiplies no matrices.
[[nodiscard]] std::optional<Product> product_of(const std::string& kernel, const result::Params& point);

/// The loops without the size: "line", "block 128", "transposed, with copy", "line, Java". The
/// names are those of the laboratory and the report that the study follows.
[[nodiscard]] std::string loops_name(const Product& product);
/// The same product at another size.
[[nodiscard]] Product at_size(Product product, std::int64_t n);
/// The loops of the source text in the order of the names, for prose: "i, j, k with the sum in a register".
[[nodiscard]] std::string loops_prose(const Product& product);

} // namespace recount::matmul
