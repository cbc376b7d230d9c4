#include "base/nearest.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <utility>

namespace recount::base {
namespace {

/// Of lower-case words; keeps the last three rows of the table.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

} // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  return distance(lower_case(a), lower_case(b));
}

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names,
                                 std::size_t most) {
  const std::string wanted = lower_case(name);
  std::vector<std::pair<std::size_t, const std::string*>> ranked;
  for (const std::string& candidate : names) {
    const std::string known = lower_case(candidate);
    const std::size_t longer = std::max(known.size(), wanted.size()),
                      gap = longer - std::min(known.size(), wanted.size()),
                      limit = std::max<std::size_t>(1, longer / 3);
    const std::size_t edits = gap > limit ? limit + 1 : distance(wanted, known); // it is at least the gap
    if (edits <= limit)
      ranked.emplace_back(edits, &candidate);
    else if (longer - gap > 2 && (known.find(wanted) != known.npos || wanted.find(known) != wanted.npos))
      ranked.emplace_back(limit + gap, &candidate);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& rank) { return rank.first; });
  std::vector<std::string> found;
  for (const auto& [edits, known] : ranked) {
    if (found.size() == most) break;
    if (std::ranges::find(found, *known) == found.end()) found.push_back(*known);
  }
  return found;
}

std::string did_you_mean(const std::vector<std::string>& names, std::string otherwise) {
  if (names.empty()) return otherwise;
  const std::span<const std::string> before(names.begin(), names.end() - 1);
  return fmt::format("did you mean {}{}{}?", fmt::join(before, ", "), before.empty() ? "" : " or ",
                     names.back());
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names,
                         std::string otherwise) {
  return did_you_mean(nearest(wanted, names), std::move(otherwise));
}

std::string did_you_mean_or_all(std::string_view wanted, const std::vector<std::string>& names) {
  return did_you_mean(wanted, names, fmt::format("known: {}", fmt::join(names, ", ")));
}

} // namespace recount::base
