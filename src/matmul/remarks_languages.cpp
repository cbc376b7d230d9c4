#include "base/format.hpp"
#include "matmul/derived.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>

#include <map>

namespace recount::matmul {
namespace {

std::string version_of(const Products& group, const std::string& name, const std::string& otherwise) {
  if (!group.run) return otherwise;
  const auto found = group.run->versions.find(name);
  return found == group.run->versions.end() ? otherwise : found->second;
}

std::string lower(std::string word) {
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

/// Vectorisation as the cause: only the C++ build with it can support that, and nothing here proves it.
std::string vectorisation(const Products& group, const Product& other, const Product& plain,
                          const Quantity& factor) {
  Product vectorised = plain;
  vectorised.build = "vectorised";
  const auto gain = compare(group, vectorised, plain).by_time;
  if (!gain || !gain->clear())
    return " Vectorised C++ was not measured or does not differ from the plain build, so the cause is open.";
  std::string text = fmt::format(" The same C++ loops built with {} are {} as fast as the plain build.",
                                 version_of(group, "vectorised_flags", "-O3 -march=native"),
                                 base::format_times(gain->value));
  if (factor.low > 1 && factor.value <= gain->high)
    return text +
           fmt::format(" Vectorisation by the compiler of {} could account for the difference; whether it "
                       "vectorised these loops was not examined.",
                       other.build);
  return text +
         fmt::format(" The loops of {} are outside of the range between the two C++ builds, so vectorisation "
                     "alone does not account for the difference, and the cause is open.",
                     other.build);
}

Remark remark_on(const Products& group, const Product& other, const Product& plain, const Quantity& factor) {
  Remark remark;
  remark.title = fmt::format("{} compared with C++, n = {}", loops_name(other), other.n);
  remark.text = fmt::format(
      "{} takes {} s and C++ {} s: {} is {} as fast{}.", other.build,
      base::format_seconds(seconds(group, other)->value), base::format_seconds(seconds(group, plain)->value),
      other.build, base::format_times(factor.value),
      factor.low < factor.high ? fmt::format(" [{:.2f}, {:.2f}]", factor.low, factor.high) : "");
  if (group.published) return remark; // the table's source names compilers, or nobody does
  remark.text +=
      fmt::format(" C++: {}, {}, not vectorised. {}: {}, options of its just-in-time compiler at their "
                  "defaults.",
                  version_of(group, "compiler", "compiler not recorded"),
                  version_of(group, "kernel_flags", "flags not recorded"), other.build,
                  version_of(group, lower(other.build), "version not recorded"));
  remark.text += vectorisation(group, other, plain, factor);
  return remark;
}

} // namespace

std::vector<Remark> languages(const Products& group) {
  std::map<Product, Product> largest; // of each language and loops
  for (const auto& [product, metrics] : group.of) {
    Product plain = product;
    plain.build.clear();
    if (product.build.empty() || product.build == "vectorised" || product.variant == "dgemm" ||
        !compare(group, product, plain).by_time)
      continue;
    Product& best = largest.try_emplace(at_size(product, 0), product).first->second;
    if (product.n > best.n) best = product;
  }
  std::vector<Remark> all;
  for (const auto& [loops, product] : largest) {
    Product plain = product;
    plain.build.clear();
    const Quantity factor = *compare(group, product, plain).by_time;
    all.push_back(
        factor.clear()
            ? remark_on(group, product, plain, factor)
            : undecided(fmt::format("{} compared with C++, n = {}", loops_name(product), product.n), factor));
  }
  return all;
}

} // namespace recount::matmul
