#include "profile/located.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace recount::profile {
namespace {
std::string one_word(std::string name) {
  for (char& c : name) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) <= ' ') c = '_';
  }
  return name;
}

/// The functions at one place, outermost first.
std::string words_of(const Located& at) {
  std::string words;
  for (auto frame = at.frames.rbegin(); frame != at.frames.rend(); ++frame)
    words += (words.empty() ? "" : ";") + one_word(at.name_of(*frame));
  return words;
}
} // namespace

std::string folded(const Places& places, const Naming& naming, std::size_t event) {
  std::vector<std::string> names;
  for (const Located& at : naming.places)
    names.push_back(words_of(at));
  std::map<std::string, std::uint64_t> lines; // other addresses of the same functions are the same line
  std::vector<std::uint32_t> path;
  for (std::size_t i = 1; i < places.chains().size(); ++i) {
    const std::uint64_t weight = places.chain_tally(i)[event].weight;
    if (weight == 0) continue;
    path.clear();
    for (std::size_t at = i; at != 0; at = places.chains()[at].caller)
      path.push_back(places.chains()[at].place);
    std::string line;
    for (auto place = path.rbegin(); place != path.rend(); ++place)
      line += (line.empty() ? "" : ";") + names[*place];
    lines[line] += weight;
  }
  std::string text;
  for (const auto& [line, weight] : lines)
    text += fmt::format("{} {}\n", line, weight);
  return text;
}

} // namespace recount::profile
