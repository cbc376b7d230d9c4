#include "check/causes.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "check/causes_data.hpp" // made from data/causes.txt by the build

#include <recount/error.hpp>

#include <algorithm>

namespace recount::check {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const auto word : base::split(text, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

Error malformed(const std::string& where, const std::string& why) {
  return bad_input(where, why, "write PRESETS | LOW..HIGH | CAUSE");
}

double factor_in(std::string_view text, const std::string& where) {
  const auto value = base::parse<double>(text);
  if (!value) throw malformed(where, "not a number: '" + std::string(text) + "'");
  return *value;
}

statistics::Band factors_in(const std::string& word, const std::string& where) {
  const std::size_t dots = word.find("..");
  if (dots == word.npos) throw malformed(where, "not a range of factors: '" + word + "'");
  const statistics::Band band{factor_in(std::string_view(word).substr(0, dots), where),
                              factor_in(std::string_view(word).substr(dots + 2), where)};
  if (!(band.low <= band.high)) throw malformed(where, "the range '" + word + "' is empty");
  return band;
}

Cause cause_in(std::string_view line, const std::string& where) {
  const auto columns = base::split(line, '|');
  if (columns.size() != 3) throw malformed(where, "three columns, separated by |, are required");
  Cause cause{words_of(columns[0]), {}, std::string(base::trim(columns[2]))};
  for (const auto& word : words_of(columns[1]))
    cause.factors.push_back(factors_in(word, where));
  if (cause.presets.empty() || cause.factors.empty() || cause.text.empty())
    throw malformed(where, "a column is empty");
  return cause;
}

/// A pattern without a wildcard is a whole name.
bool names(const std::string& pattern, const std::string& preset) {
  const base::Pattern glob(pattern);
  return glob.glob() ? glob.matches(preset) : pattern == preset;
}

} // namespace

std::vector<Cause> parse_causes(std::string_view text, const std::string& file) {
  std::vector<Cause> all;
  int number = 0;
  for (const auto raw : base::split(text, '\n')) {
    ++number;
    const auto line = base::trim(raw);
    if (line.empty() || line.front() == '#') continue;
    all.push_back(cause_in(line, file + ":" + std::to_string(number)));
  }
  return all;
}

const std::vector<Cause>& causes() {
  static const std::vector<Cause> built_in = parse_causes(causes_data, "causes.txt");
  return built_in;
}

std::vector<std::string> likely_causes(const std::string& preset, double factor,
                                       const std::vector<Cause>& all) {
  constexpr std::size_t most = 2;
  const std::string name = is_preset(preset) ? preset.substr(5) : preset;
  std::vector<std::string> likely;
  for (const Cause& cause : all) {
    const bool fits = std::ranges::any_of(cause.factors, [&](const statistics::Band& band) {
      return band.low <= factor && factor <= band.high;
    });
    if (fits && std::ranges::any_of(cause.presets, [&](const auto& p) { return names(p, name); }) &&
        likely.size() < most)
      likely.push_back(cause.text);
  }
  return likely;
}

} // namespace recount::check
