#include "commands/caches/measure/miss_events.hpp"

#include "base/text.hpp"
#include "commands/caches/misses_data.hpp" // made from data/misses.txt by the build

#include <fmt/format.h>

#include <algorithm>

namespace recount::caches {
namespace {

bool within(int number, std::string_view ranges) {
  return std::ranges::any_of(base::split(ranges, ','), [&](std::string_view range) {
    const auto dots = range.find("..");
    const int low = base::parse<int>(range.substr(0, dots)).value();
    return low <= number &&
           number <= (dots == range.npos ? low : base::parse<int>(range.substr(dots + 2)).value());
  });
}

/// Of "NAME CODE.UMASK"; nothing of "-".
std::optional<CountedMiss> parse_event(std::string_view cell, const std::string& pmu) {
  const auto parts = base::words(cell);
  if (parts.size() < 2) return {};
  const std::string_view code = parts[1];
  const auto dot = code.find('.');
  return CountedMiss{fmt::format("{}/event=0x{},umask=0x{}/", pmu, code.substr(0, dot), code.substr(dot + 1)),
                     std::string(parts[0])};
}

} // namespace

std::vector<MissEvents> parse_miss_events(std::string_view text, const host::Cpu& cpu) {
  std::vector<MissEvents> all;
  for (const auto& [where, cells] : base::data_rows(text, "misses.txt")) {
    const auto words = base::words(cells.at(0));
    if (words.at(0) != cpu.vendor || base::parse<int>(words.at(1)) != cpu.family ||
        !within(cpu.model, words.at(2)))
      continue;
    MissEvents& row = all.emplace_back(MissEvents{std::string(cells.at(1)), {}, {}});
    row.levels = {parse_event(cells.at(2), row.pmu), parse_event(cells.at(3), row.pmu)};
    row.tlbs = {parse_event(cells.at(4), row.pmu), parse_event(cells.at(5), row.pmu)};
  }
  return all;
}

std::vector<MissEvents> miss_events(const host::Cpu& cpu) {
  return parse_miss_events(misses_data, cpu);
}

} // namespace recount::caches
