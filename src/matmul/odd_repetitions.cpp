#include "matmul/odd_repetitions.hpp"

#include "base/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::matmul {
namespace {

constexpr std::size_t least_siblings = 3;

void find_distant(std::vector<OddRepetition>& found, const Product& product,
                  const std::pair<std::string, std::string>& who, const Repetitions& all) {
  const std::size_t n = all.values.size();
  if (n <= least_siblings) return;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> others;
    for (std::size_t k = 0; k < n; ++k)
      if (k != i) others.push_back(all.values[k].value);
    const double middle = statistics::median(others);
    const auto [least, most] = std::ranges::minmax(others);
    const double away = all.values[i].value - middle;
    if (middle == 0 || std::abs(away) < odd_share * std::abs(middle) ||
        std::abs(away) < odd_times * (most - least))
      continue;
    found.push_back(
        {product, who.first, who.second, all.values[i].repetition, all.values[i].value, middle,
         fmt::format("{:.0f} % {} the other {}, which agree within {:.1f} %", 100 * std::abs(away / middle),
                     away < 0 ? "below" : "above", others.size(), 100 * (most - least) / std::abs(middle))});
  }
}

const Repeated* repetition_of(const Repetitions& all, int repetition) {
  const auto at = std::ranges::find(all.values, repetition, &Repeated::repetition);
  return at == all.values.end() ? nullptr : &*at;
}

/// Values that are equal in one repetition of several, and not 0.
void find_identical(std::vector<OddRepetition>& found, const Product& product,
                    const std::pair<std::string, std::string>& a, const Repetitions& values_of_a,
                    const std::pair<std::string, std::string>& b, const Repetitions& values_of_b) {
  std::vector<const Repeated*> same;
  std::vector<double> others;
  for (const Repeated& one : values_of_a.values) {
    const Repeated* const its = repetition_of(values_of_b, one.repetition);
    if (!its) continue;
    if (its->value == one.value && one.value != 0)
      same.push_back(its);
    else
      others.push_back(its->value);
  }
  if (same.size() != 1 || others.size() < 2) return;
  found.push_back(
      {product, b.first, b.second, same[0]->repetition, same[0]->value, statistics::median(others),
       fmt::format("equal to the value of {} in the same repetition, and in no other", a.second)});
}

} // namespace

std::vector<OddRepetition> odd_repetitions(const Products& group) {
  std::vector<OddRepetition> found;
  for (const auto& [product, metrics] : group.of)
    for (auto a = metrics.begin(); a != metrics.end(); ++a) {
      if (is_modelled(a->first.first)) continue;
      find_distant(found, product, a->first, a->second);
      for (auto b = std::next(a); b != metrics.end() && b->first.first == a->first.first; ++b)
        find_identical(found, product, a->first, a->second, b->first, b->second);
    }
  return found;
}

} // namespace recount::matmul
