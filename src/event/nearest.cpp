#include "event/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace recount::event {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& letter : out)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return out;
}

/// Optimal string alignment over lower-case words, three rows at a time.
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
  return distance(lower(a), lower(b));
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t most) {
  const std::string wanted = lower(word);
  const std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3);
  std::vector<std::pair<std::size_t, const std::string*>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string known = lower(candidate);
    const std::size_t gap =
        known.size() > wanted.size() ? known.size() - wanted.size() : wanted.size() - known.size();
    const std::size_t edits = gap > limit ? limit + 1 : distance(wanted, known);
    if (edits <= limit)
      ranked.emplace_back(edits, &candidate);
    else if (wanted.size() > 2 && known.find(wanted) != std::string::npos)
      ranked.emplace_back(limit + gap, &candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [edits, name] : ranked) {
    if (names.size() == most) break;
    if (std::find(names.begin(), names.end(), *name) == names.end()) names.push_back(*name);
  }
  return names;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text + "?";
}

} // namespace recount::event
