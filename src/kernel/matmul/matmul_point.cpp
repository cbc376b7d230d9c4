#include "kernel/matmul/matmul_point.hpp"

#include "kernel/point.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::kernel {

namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t most = 1 << 20; // of n: 4 n^3 still fits into 64 bits

const std::vector<std::string> variants = {"ijk", "ijk-mem", "ikj", "transposed", "blocked"};

Parameter choice(std::string name, std::string prose, std::string fallback,
                 std::vector<std::string> choices) {
  return {std::move(name),
          std::move(prose),
          Parameter::Unit::choice,
          result::ParamValue{std::move(fallback)},
          0,
          0,
          std::move(choices)};
}
Parameter count(std::string name, std::string prose, std::int64_t fallback, std::int64_t least,
                std::int64_t greatest, Parameter::Unit unit = Parameter::Unit::count) {
  return {std::move(name), std::move(prose), unit, result::ParamValue{fallback}, least, greatest, {}};
}

} // namespace

std::int64_t MatmulPoint::pitch() const {
  return (n * n * element + offset + page - 1) / page * page;
}

std::int64_t MatmulPoint::bytes() const {
  return pitch() * (matrices() - 1) + n * n * element;
}

std::int64_t MatmulPoint::accesses() const {
  const std::int64_t square = n * n, cube = square * n;
  switch (variant) {
  case Variant::ijk: return 2 * cube + square;
  case Variant::ijk_mem: return 4 * cube;
  case Variant::ikj: return 3 * cube + square;
  case Variant::transposed: return 4 * cube + (transposes ? 2 * square : 0);
  case Variant::blocked: return 3 * cube + square * ((n + block - 1) / block);
  }
  return 0;
}

std::vector<Parameter> matmul_parameters() {
  return {
      choice("variant", "loop order and place of the sum", "ijk", variants),
      choice("element", "f64: double; i16: 16-bit integers", "f64", {"f64", "i16"}),
      count("n", "rows and columns of each matrix", 600, 1, most),
      count("block", "rows and columns of a block (blocked only)", 128, 1, most),
      choice("transpose", "whether to measure the transposition (transposed only)", "included",
             {"included", "excluded"}),
      count("offset",
            "bytes from a page boundary to the first element of each matrix, a multiple of the element", 16,
            0, page - 1, Parameter::Unit::bytes),
      choice("pagesize", "page size of the data, requested from the system", "small", {"small", "huge"}),
  };
}

MatmulPoint matmul_point(const Kernel& kernel, const result::Params& given) {
  const result::Params point = complete(kernel, given);
  MatmulPoint at;
  at.variant = static_cast<MatmulPoint::Variant>(std::ranges::find(variants, text(point, "variant")) -
                                                 variants.begin());
  at.element = text(point, "element") == "f64" ? 8 : 2;
  at.n = number(point, "n");
  at.block = std::min(number(point, "block"), at.n);
  at.offset = number(point, "offset");
  at.transposes = text(point, "transpose") == "included";
  at.pages = text(point, "pagesize") == "huge" ? Memory::Pages::huge : Memory::Pages::small;
  if (at.offset % at.element != 0)
    throw bad_input(kernel.name() + " --offset",
                    fmt::format("{} is not a multiple of the element size, {} bytes", at.offset, at.element));
  return at;
}

} // namespace recount::kernel
