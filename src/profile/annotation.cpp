#include "profile/located.hpp"

#include "base/text.hpp"
#include "symbol/scopes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fnmatch.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace recount::profile {
namespace {
struct LineSamples {
  std::vector<Tally> tallies;
  std::map<std::uint32_t, std::uint64_t> objects; ///< samples of the first event
};
using LineTallies = std::map<int, LineSamples>;

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

/// Those with at least a twentieth of the line's samples, most first: "b (98 %), a (2 %)".
std::string objects_of(const LineSamples& line, const Naming& naming) {
  constexpr std::size_t most = 3;
  constexpr double least = 0.05;
  std::map<std::string, double> by_name;
  double all = 0;
  for (const auto& [object, samples] : line.objects) {
    by_name[naming.objects.at(object - 1).name] += static_cast<double>(samples);
    all += static_cast<double>(samples);
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, samples] : by_name)
    if (samples > 0 && samples >= least * all) sorted.emplace_back(-samples, name);
  std::ranges::sort(sorted);
  sorted.resize(std::min(sorted.size(), most));
  std::string text;
  for (const auto& [samples, name] : sorted)
    text += fmt::format("{}{} ({:.0f} %)", text.empty() ? "" : ", ", name, -100 * samples / all);
  return text;
}

Annotation annotate_file(const std::string& file, const LineTallies& lines, const Naming& naming) {
  Annotation made{file, {}, {}};
  const auto source = source_text(file);
  if (!source) made.trouble = std::strerror(errno);
  int number = 0;
  for (const auto line : base::split(source ? *source : std::string_view(), '\n')) {
    if (!shown(lines, ++number)) continue;
    const auto at = lines.find(number);
    AnnotatedLine& one = made.lines.emplace_back(number, std::string(line), std::vector<Tally>(), "");
    if (at == lines.end()) continue;
    one.tallies = at->second.tallies;
    one.objects = objects_of(at->second, naming);
  }
  // Samples of lines beyond the text, or without a text.
  const int last = made.lines.empty() ? 0 : made.lines.back().number;
  for (auto at = lines.upper_bound(last); at != lines.end(); ++at)
    made.lines.push_back({at->first, "", at->second.tallies, objects_of(at->second, naming)});
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
    auto& line = files[at.frames.front().file][at.frames.front().line];
    if (const std::uint32_t object = places.places()[i].object; object > 0)
      line.objects[object] += tally[0].weight;
    auto& sum = line.tallies;
    sum.resize(tally.size());
    for (std::size_t e = 0; e < tally.size(); ++e) {
      sum[e].samples += tally[e].samples;
      sum[e].weight += tally[e].weight;
    }
  }
  std::vector<Annotation> all;
  for (const auto& [file, lines] : files)
    all.push_back(annotate_file(file, lines, naming));
  return all;
}

} // namespace recount::profile
