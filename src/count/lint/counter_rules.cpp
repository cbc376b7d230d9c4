#include "base/format.hpp"
#include "base/text.hpp"
#include "count/lint/counters_data.hpp"
#include "count/lint/lint.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

// Findings about presets whose events the counters of a core cannot hold at once.
namespace recount::lint {
namespace {

/// A restriction of events to some counters.
struct CounterLimit {
  std::vector<std::string> cpus;
  std::uint64_t code = 0, mask = 0, counters = 0;
};

const std::vector<CounterLimit>& counter_limits() {
  static const std::vector<CounterLimit> all = [] {
    std::vector<CounterLimit> found;
    for (const auto& [where, cells] : base::data_rows(counters_data, "counters.txt")) {
      const auto number = [&](std::size_t cell) {
        return base::parse<std::uint64_t>(cells.at(cell), 16).value();
      };
      found.push_back({base::words(cells.at(0)), number(1), number(2), number(3)});
    }
    return found;
  }();
  return all;
}

/// The event of a fixed counter, by its architectural code: instructions, cycles, reference cycles; else -1.
int fixed_counter(const preset::CpuView& view, const preset::Native& native) {
  if (view.core->fixed_counters == 0 || native.type != PERF_TYPE_RAW || native.config1 != 0) return -1;
  constexpr std::uint64_t codes[] = {0xc0, 0x3c, 0x300};
  const auto at = std::ranges::find(codes, native.config & 0xffffff);
  const auto index = static_cast<int>(at - std::begin(codes));
  return index < std::min(3, view.core->fixed_counters) && view.kind == preset::CpuKind::cisc ? index : -1;
}

constexpr int first_fixed = 32; // bits of fixed counters follow those of the general ones

/// Raw codes of POWER7 and later name the counter in bits 16 to 19, from 1; 0 is any (PMU user's guides).
std::uint64_t counter_in_code(const preset::CpuView& view, const preset::Native& native) {
  constexpr std::string_view cpus[] = {"power7", "power8", "power9", "power10"};
  if (std::ranges::find(cpus, view.cpu) == std::end(cpus)) return 0;
  const auto counter = native.config >> 16 & 0xf;
  return counter == 0 ? 0 : std::uint64_t{1} << (counter - 1);
}

void check_preset(const preset::CpuView& view, const Preset& preset, Findings& findings) {
  std::map<int, std::uint64_t> allowed; // PAPI opens each spelling separately, even with the same encoding
  std::vector<std::string> names;
  for (const PresetNative& native : preset.natives) {
    const preset::Native& code = view.natives->of(native.name);
    if (code.pmu == view.core->name && allowed.emplace(native.code, find_counters(view, code)).second)
      names.push_back(native.name);
  }
  std::vector<std::uint64_t> events;
  std::uint64_t all = 0;
  for (const auto& [code, counters] : allowed) {
    events.push_back(counters);
    all |= counters;
  }
  if (fit_counters(events)) return;
  const auto available = static_cast<std::size_t>(std::popcount(all));
  const bool number = events.size() > available;
  findings.add_here(
      "too-many-counters", {preset.place, preset.name, view.cpu},
      number
          ? fmt::format("{} needs {} counters, but its events have {}", preset.name, events.size(), available)
          : fmt::format("{}: no counters can hold {} at once", preset.name, fmt::join(names, ", ")));
}

} // namespace

std::uint64_t find_counters(const preset::CpuView& view, const preset::Native& native) {
  const std::uint64_t general = (std::uint64_t{1} << std::min(view.core->counters, first_fixed)) - 1;
  const auto limit = std::ranges::find_if(counter_limits(), [&](const CounterLimit& one) {
    return (native.config & one.mask) == one.code && std::ranges::find(one.cpus, view.cpu) != one.cpus.end();
  });
  if (limit != counter_limits().end()) return limit->counters;
  if (const auto one = counter_in_code(view, native)) return one;
  const int fixed = fixed_counter(view, native);
  return fixed < 0 ? general : general | std::uint64_t{1} << (first_fixed + fixed);
}

bool fit_counters(const std::vector<std::uint64_t>& allowed) {
  std::set<std::uint64_t> unions{0};
  for (const std::uint64_t counters : allowed)
    for (const std::uint64_t other : std::set(unions))
      unions.insert(other | counters);
  return std::ranges::all_of(unions, [&](std::uint64_t some) {
    return std::ranges::count_if(allowed, [&](std::uint64_t own) { return (own & ~some) == 0; }) <=
           std::popcount(some);
  });
}

void check_counters(const preset::CpuView& view, Findings& findings) {
  if (!view.core || view.core->counters <= 0) return;
  for (const Preset& preset : view.loaded.presets)
    check_preset(view, preset, findings);
}

} // namespace recount::lint
