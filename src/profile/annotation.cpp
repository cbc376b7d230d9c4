#include "profile/located.hpp"

#include "base/text.hpp"
#include "symbol/scopes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fnmatch.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace recount::profile {
namespace {
using LineTallies = std::map<int, std::vector<Tally>>;

constexpr int around = 3; ///< lines shown before and after one with samples

bool names_function(const std::string& wanted, const std::string& name) {
  const auto same = [&](const std::string& text) { return ::fnmatch(wanted.c_str(), text.c_str(), 0) == 0; };
  return name == wanted || same(name) || same(symbol::base_name(name));
}

bool shown(const LineTallies& lines, int number) {
  const auto near = lines.lower_bound(number - around);
  return near != lines.end() && near->first <= number + around;
}

/// None, with errno, when there is no such file or it is larger than any source text.
std::optional<std::string> source_text(const std::string& path) {
  constexpr std::size_t largest = 16 << 20;
  const process::Fd file = open_regular(path);
  if (!file) return {};
  return base::read_all(file.get(), largest);
}

Annotation annotate_file(const std::string& file, const LineTallies& lines) {
  Annotation made{file, {}, {}};
  const auto source = source_text(file);
  if (!source) made.trouble = std::strerror(errno);
  int number = 0;
  for (const auto line : base::split(source ? *source : std::string_view(), '\n')) {
    if (!shown(lines, ++number)) continue;
    const auto at = lines.find(number);
    made.lines.push_back({number, std::string(line), at != lines.end() ? at->second : std::vector<Tally>()});
  }
  // Samples of lines beyond the text, or without a text.
  const int last = made.lines.empty() ? 0 : made.lines.back().number;
  for (auto at = lines.upper_bound(last); at != lines.end(); ++at)
    made.lines.push_back({at->first, "", at->second});
  return made;
}
} // namespace

std::vector<Annotation> annotate(const Places& places, const Naming& naming, const std::string& function) {
  std::map<std::string, LineTallies> files;
  for (std::size_t i = 0; i < naming.places.size(); ++i) {
    const Located& at = naming.places[i];
    const bool asked = std::ranges::any_of(
        at.frames, [&](const symbol::Frame& f) { return names_function(function, f.function); });
    const auto tally = places.tally(i);
    if (!asked || at.frames.front().line == 0 ||
        std::ranges::all_of(tally, [](const Tally& t) { return t.samples == 0; }))
      continue;
    auto& sum = files[at.frames.front().file][at.frames.front().line];
    sum.resize(tally.size());
    for (std::size_t e = 0; e < tally.size(); ++e) {
      sum[e].samples += tally[e].samples;
      sum[e].weight += tally[e].weight;
    }
  }
  std::vector<Annotation> all;
  for (const auto& [file, lines] : files)
    all.push_back(annotate_file(file, lines));
  return all;
}

} // namespace recount::profile
