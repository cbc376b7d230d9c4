// Names near to one that does not exist, for error messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace recount::model {

/// Letters to insert, delete or change to make one text the other (Levenshtein); of each the first 64 count.
[[nodiscard]] inline std::size_t distance(std::string_view a, std::string_view b) {
  constexpr std::size_t most = 64;
  a = a.substr(0, most);
  b = b.substr(0, most);
  std::array<std::size_t, most + 1> row{};
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row[b.size()];
}

/// `did you mean "a" or "b"?` with the nearest when they are near enough, else `known: a, b, c`.
[[nodiscard]] inline std::string suggest(std::string_view wrong, const std::vector<std::string>& known) {
  std::size_t least = std::max<std::size_t>(2, wrong.size() / 3) + 1;
  std::string near, list;
  for (const std::string& name : known) {
    list += (list.empty() ? "known: " : ", ") + name;
    const std::size_t letters = distance(wrong, name);
    if (letters < least) near.clear();
    if (letters <= least && (letters < least || !near.empty()))
      near += (near.empty() ? "\"" : " or \"") + name + "\"";
    least = std::min(least, letters);
  }
  return near.empty() ? list : "did you mean " + near + "?";
}

} // namespace recount::model
