#include "commands/profile/profile_report.hpp"

#include "commands/profile/places.hpp"
#include "show/command/output.hpp"
#include "show/plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace recount::profile {
namespace {
using result::Observation;
constexpr std::size_t drawn_functions = 8, drawn_events = 4;
constexpr double min_share = 0.005; ///< of an event: functions with less are left out
constexpr double min_width = 0.06;  ///< of the axis, for a small function
constexpr int bins = 120;           ///< over the whole axis

template <class T>
std::optional<T> parameter(const Observation& o, const char* name) {
  const auto found = o.params.find(name);
  if (found == o.params.end() || !std::holds_alternative<T>(found->second)) return {};
  return std::get<T>(found->second);
}

std::string text(const Observation& o, const char* name) {
  return parameter<std::string>(o, name).value_or("");
}

/// Results files are not trusted.
bool is_address(std::int64_t address) {
  return address >= 0 && address < std::int64_t{1} << 62;
}

struct Function {
  std::string module, name;
  std::int64_t start = 0, end = 0;
  std::vector<double> shares;                            ///< of each event
  std::vector<std::map<std::int64_t, double>> addresses; ///< of each event: shares
  double left = 0, right = 0;                            ///< its range on the axis, 0 to 1
  [[nodiscard]] double greatest_share() const { return *std::ranges::max_element(shares); }
};

struct DrawnEvent {
  std::string metric;
  Witness witness;
};

std::vector<DrawnEvent> events_of_run(const result::Results& results, const std::string& run,
                                      const plot::Choice& choice) {
  std::vector<DrawnEvent> events;
  for (const Observation& o : results.observations) {
    const bool chosen =
        choice.metrics.empty() || std::ranges::find(choice.metrics, o.metric) != choice.metrics.end();
    if (plot::is_profile(o) && o.run == run && chosen &&
        std::ranges::find(events, o.metric, &DrawnEvent::metric) == events.end())
      events.push_back({o.metric, o.witness});
  }
  return events;
}

/// The argument of `recount profile --by`; older results: symbols.
std::string grouping(const result::Results& results, const std::string& run) {
  const auto header = std::ranges::find(results.runs, run, &result::Run::id);
  if (header == results.runs.end() || !header->plan.contains("by")) return "symbol";
  return header->plan.at("by");
}

/// The group of an address. Only symbols have bounds: other groups extend from the first to the last address
/// with occurrences.
struct Group {
  std::string name;
  std::int64_t start = 0, end = 0;
};
std::optional<Group> make_group(const Observation& o, std::int64_t address, const std::string& by) {
  constexpr std::int64_t longest = std::int64_t{1} << 40; // bytes of a function
  const std::string line = text(o, "source"), inlined = text(o, "inlined");
  if (by == "module") return Group{short_path(text(o, "module")), address, address + 1};
  if (by == "line" && !line.empty()) return Group{line, address, address + 1};
  if (by == "function" && !inlined.empty()) return Group{inlined, address, address + 1};
  const auto start = parameter<std::int64_t>(o, "start"), end = parameter<std::int64_t>(o, "end");
  if (!start || !end || *start < 0 || address < *start || address >= *end || *end - *start >= longest)
    return {};
  return Group{text(o, "function"), *start, *end};
}

/// The functions with a visible share.
std::vector<Function> gather_functions(const result::Results& results, const std::string& run,
                                       const std::vector<DrawnEvent>& events) {
  const std::string by = grouping(results, run);
  std::vector<double> totals(events.size(), 0);
  std::map<std::tuple<std::string, std::string, std::int64_t>, Function> functions;
  for (const Observation& o : results.observations) {
    const auto event = std::ranges::find(events, o.metric, &DrawnEvent::metric);
    if (!plot::is_profile(o) || o.run != run || event == events.end()) continue;
    const auto e = static_cast<std::size_t>(event - events.begin());
    const auto address = parameter<std::int64_t>(o, "address");
    const double value = result::as_double(o.value).value_or(0);
    if (!o.params.contains("address")) totals[e] += value; // those of the kernel do not fit an int64
    const auto group = address && is_address(*address) ? make_group(o, *address, by) : std::nullopt;
    if (!group) continue;
    const bool bounded = group->end - group->start > 1; // two symbols may have one name
    Function& f = functions[{text(o, "module"), group->name, bounded ? group->start : 0}];
    if (f.shares.empty())
      f = {text(o, "module"),
           group->name,
           group->start,
           group->end,
           std::vector<double>(events.size()),
           std::vector<std::map<std::int64_t, double>>(events.size())};
    f.start = std::min(f.start, group->start);
    f.end = std::max(f.end, group->end);
    f.shares[e] += value;
    f.addresses[e][*address] += value;
  }
  std::vector<Function> visible;
  for (auto& [key, f] : functions) {
    if (by != "line" && by != "module") f.name = symbol::base_name(f.name);
    for (std::size_t e = 0; e < events.size(); ++e) {
      const double total = totals[e] > 0 ? totals[e] : 1;
      f.shares[e] /= total;
      for (auto& [address, value] : f.addresses[e])
        value /= total;
    }
    if (f.greatest_share() >= min_share) visible.push_back(std::move(f));
  }
  return visible;
}

void keep_hottest(std::vector<Function>& functions) {
  std::ranges::stable_sort(functions, std::greater{}, &Function::greatest_share);
  functions.resize(std::min(functions.size(), drawn_functions));
  std::ranges::stable_sort(functions, {}, [](const Function& f) { return std::tie(f.module, f.start); });
}

/// Widths proportional to code size, with a minimum width.
void lay_out(std::vector<Function>& functions) {
  double bytes = 0, all = 0;
  for (const auto& f : functions)
    bytes += static_cast<double>(f.end - f.start);
  const auto width = [&](const Function& f) {
    return std::max(min_width, static_cast<double>(f.end - f.start) / bytes);
  };
  for (const auto& f : functions)
    all += width(f);
  double at = 0;
  for (auto& f : functions) {
    f.left = at;
    f.right = at += width(f) / all;
  }
  functions.back().right = 1;
}

/// Steps: each bin holds the occurrences of equally many bytes; their sum is the function's share.
void add_steps(const Function& f, std::size_t event, plot::Series& series) {
  const auto bytes = f.end - f.start;
  const auto count = std::clamp<std::int64_t>(std::llround((f.right - f.left) * bins), 1, bytes);
  std::vector<double> sums(static_cast<std::size_t>(count), 0);
  for (const auto& [address, share] : f.addresses[event])
    sums[static_cast<std::size_t>((address - f.start) * count / bytes)] += 100 * share;
  const double width = (f.right - f.left) / static_cast<double>(count);
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (const std::size_t edge : {i, i + 1})
      series.samples.push_back({f.left + static_cast<double>(edge) * width, sums[i], sums[i], sums[i]});
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share >= 0.0995 ? 0 : 1);
}

plot::Panel make_panel(const DrawnEvent& drawn, const std::vector<Function>& functions, std::size_t event) {
  plot::Panel panel;
  panel.title = drawn.metric + " (witness " + drawn.witness.name() + ")";
  panel.y_title = "% of samples";
  panel.x_along = plot::Panel::Along::linear;
  panel.draw = plot::Panel::Draw::filled;
  plot::Series& series = panel.series.emplace_back();
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Function& f = functions[i];
    add_steps(f, event, series);
    panel.spans.push_back({f.left, f.right, event == 0 ? std::to_string(i + 1) : "", i % 2 == 1});
    panel.x_tics.push_back({f.left, fmt::format("{:#x}", f.start)});
  }
  return panel;
}

/// "1 work::touch (libx.so): 40 %, 12 %" for each function, and the rest.
std::vector<std::string> make_key(const std::vector<Function>& functions, std::size_t events) {
  std::vector<std::string> key;
  std::vector<double> rest(events, 1);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Function& f = functions[i];
    std::vector<std::string> shares;
    for (std::size_t e = 0; e < events; ++e) {
      shares.push_back(percent(f.shares[e]));
      rest[e] -= f.shares[e];
    }
    const bool same_module = f.module == functions.front().module;
    const std::string name = f.name.empty() ? "?" : command::shortened(f.name, 40);
    key.push_back(fmt::format("{} {}{}: {}", i + 1, name,
                              same_module ? "" : " (" + short_path(f.module) + ")", fmt::join(shares, ", ")));
  }
  std::vector<std::string> shares;
  for (const double share : rest)
    shares.push_back(percent(std::max(0.0, share)));
  key.push_back(fmt::format("other addresses: {}", fmt::join(shares, ", ")));
  return key;
}
} // namespace

plot::Sheet compose_over_addresses(const result::Results& results, const plot::Choice& choice) {
  const auto first = std::ranges::find_if(results.observations, plot::is_profile);
  if (first == results.observations.end())
    throw bad_input("figure profile", "the results are not from recount profile",
                    "write them with recount profile -o FILE -- COMMAND");
  const auto events = events_of_run(results, first->run, choice);
  auto functions = gather_functions(results, first->run, events);
  keep_hottest(functions);
  if (functions.empty())
    throw bad_input("figure profile", "no function with known bounds has samples",
                    "see recount profile --by address");
  lay_out(functions);
  plot::Sheet sheet;
  sheet.name = "profile";
  for (std::size_t e = 0; e < std::min(events.size(), drawn_events); ++e)
    sheet.panels.push_back(make_panel(events[e], functions, e));
  sheet.panels.back().x_title = "address in the file (gaps between these functions omitted)";
  sheet.caption = plot::machine_names(results);
  sheet.caption_is_key = true;
  sheet.caption.push_back(text(*first, "command").substr(0, 80));
  for (auto& entry : make_key(functions, sheet.panels.size()))
    sheet.caption.push_back(std::move(entry));
  return sheet;
}

plot::Figure profile_figure() {
  return {{"profile", "samples by address in the functions with most samples, one panel per event",
           "results of recount profile"},
          compose_over_addresses,
          [](const auto& results, const auto&) {
            return std::ranges::any_of(results.observations, plot::is_profile);
          }};
}

} // namespace recount::profile
