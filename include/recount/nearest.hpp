// "Did you mean": the known names nearest to one that is not known.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount {

/// Edits (insertion, deletion, substitution, swap of neighbours) from one text to the other, letter case
/// ignored: the optimal string alignment distance. Pure.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

/// At most `most` of the names, nearest first, and none that is farther than a third of the longer text
/// unless one contains the other. `names` is any range of things that convert to std::string.
template <class Names>
[[nodiscard]] std::vector<std::string> nearest(std::string_view wanted, const Names& names,
                                               std::size_t most = 3) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  const auto lower = [](std::string_view text) {
    std::string out(text);
    for (char& c : out)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
  };
  const std::string needle = lower(wanted);
  for (const auto& name : names) {
    const std::string text(name);
    const std::string hay = lower(text);
    const bool part = needle.size() > 2 && (hay.find(needle) != std::string::npos ||
                                            (hay.size() > 2 && needle.find(hay) != std::string::npos));
    const std::size_t longer = std::max(wanted.size(), text.size());
    const std::size_t shorter = std::min(wanted.size(), text.size());
    if (longer - shorter > longer / 3 + 1 && !part) continue;
    const std::size_t distance = edit_distance(needle, hay);
    if (distance <= longer / 3 + (longer < 6 ? 1U : 0U) || part) ranked.emplace_back(distance, text);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> found;
  for (auto& [distance, text] : ranked) {
    if (found.size() < most && std::find(found.begin(), found.end(), text) == found.end())
      found.push_back(std::move(text));
  }
  return found;
}

/// "did you mean A, B or C?" for the remedy of an Error; `otherwise` when nothing is near.
template <class Names>
[[nodiscard]] std::string did_you_mean(std::string_view wanted, const Names& names,
                                       const std::string& otherwise = {}) {
  const auto found = nearest(wanted, names);
  if (found.empty()) return otherwise;
  std::string text = "did you mean " + found[0];
  for (std::size_t i = 1; i < found.size(); ++i)
    text += (i + 1 == found.size() ? " or " : ", ") + found[i];
  return text + "?";
}

} // namespace recount
