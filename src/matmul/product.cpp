#include "matmul/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace recount::matmul {
namespace {

struct LoopsRow {
  const char *variant, *name, *prose;
};
constexpr std::array loops_rows{
    LoopsRow{"ijk", "simple", "i, j, k with the sum in a register"},
    LoopsRow{"ijk-mem", "straightforward", "i, j, k with the sum in memory"},
    LoopsRow{"ikj", "line", "i, k, j along the rows of all three matrices"},
    LoopsRow{"transposed", "transposed", "i, j, k over a transposed copy of b, the sum in memory"},
    LoopsRow{"blocked", "block", "i, k, j inside square blocks"},
    LoopsRow{"dgemm", "OpenBLAS dgemm", "cblas_dgemm of OpenBLAS in one thread"},
};

const LoopsRow* row_of(const std::string& variant) {
  const auto* const at =
      std::ranges::find_if(loops_rows, [&](const LoopsRow& row) { return row.variant == variant; });
  return at == loops_rows.end() ? nullptr : at;
}

std::string text_of(const result::Params& point, const std::string& name, const std::string& otherwise) {
  const auto found = point.find(name);
  if (found == point.end()) return otherwise;
  const auto* const word = std::get_if<std::string>(&found->second);
  return word ? *word : otherwise;
}

} // namespace

double Product::operations() const {
  const auto size = static_cast<double>(n);
  return 2 * size * size * size;
}

std::optional<Product> product_of(const std::string& kernel, const result::Params& point) {
  Product product;
  product.n = result::integer(point, "n").value_or(0);
  if (product.n <= 0) return {};
  product.element = text_of(point, "element", "f64");
  if (kernel == "dgemm") {
    product.variant = "dgemm";
    return product;
  }
  product.variant = text_of(point, "variant", "");
  if (kernel == "matmul-vectorised")
    product.build = "vectorised";
  else if (kernel == "external")
    product.build = text_of(point, "language", "another program");
  else if (kernel != "matmul")
    return {};
  if (product.variant == "blocked")
    product.block = std::min(result::integer(point, "block").value_or(0), product.n);
  product.transposes =
      product.variant == "transposed" && text_of(point, "transpose", "included") == "included";
  return product;
}

std::string loops_name(const Product& product) {
  const LoopsRow* const row = row_of(product.variant);
  std::string name = row ? row->name : product.variant;
  if (product.block > 0) name += fmt::format(" {}", product.block);
  if (product.variant == "transposed") name += product.transposes ? ", with copy" : ", without copy";
  if (!product.build.empty()) name += ", " + product.build;
  return name;
}

std::string loops_prose(const Product& product) {
  const LoopsRow* const row = row_of(product.variant);
  return row ? row->prose : product.variant;
}

Product at_size(Product product, std::int64_t n) {
  product.n = n;
  return product;
}

} // namespace recount::matmul
