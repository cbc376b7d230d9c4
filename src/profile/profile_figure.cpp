#include "profile/profile_figure.hpp"

#include "plot/select.hpp"
#include "profile/located.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace recount::profile {
namespace {
using result::Observation;
constexpr std::size_t drawn_functions = 8, drawn_events = 4;
constexpr double least_share = 0.005; ///< of an event: functions with less are left out
constexpr double least_width = 0.06;  ///< of the axis, for a small function
constexpr int bins = 120;             ///< over the whole axis

std::optional<std::int64_t> number(const Observation& o, const char* name) {
  const auto found = o.params.find(name);
  if (found == o.params.end() || !std::holds_alternative<std::int64_t>(found->second)) return {};
  return std::get<std::int64_t>(found->second);
}

std::string text(const Observation& o, const char* name) {
  const auto found = o.params.find(name);
  if (found == o.params.end() || !std::holds_alternative<std::string>(found->second)) return {};
  return std::get<std::string>(found->second);
}

/// Results files are not trusted; nor is a function longer than this likely.
bool sensible(std::int64_t start, std::int64_t end) {
  return start >= 0 && end > start && end - start < (std::int64_t{1} << 40);
}

struct Function {
  std::string module, name;
  std::int64_t start = 0, end = 0;
  std::vector<double> shares;                            ///< of each event
  std::vector<std::map<std::int64_t, double>> addresses; ///< of each event: shares
  double left = 0, right = 0;                            ///< its range on the axis, 0 to 1
  [[nodiscard]] double most() const { return *std::ranges::max_element(shares); }
};

struct Profiled {
  std::vector<std::string> events;
  std::vector<Function> functions;
};

std::vector<std::string> events_of(const result::Results& results, const std::string& run,
                                   const plot::Choice& choice) {
  std::vector<std::string> events;
  for (const Observation& o : results.observations) {
    if (!plot::is_profile(o) || o.run != run) continue;
    const bool wanted =
        choice.metrics.empty() || std::ranges::find(choice.metrics, o.metric) != choice.metrics.end();
    if (wanted && std::ranges::find(events, o.metric) == events.end()) events.push_back(o.metric);
  }
  return events;
}

/// What `recount profile --by` gathered by; older results: symbols.
std::string attribution(const result::Results& results, const std::string& run) {
  const auto header = std::ranges::find(results.runs, run, &result::Run::id);
  if (header == results.runs.end()) return "symbol";
  const auto by = header->plan.find("by");
  return by == header->plan.end() ? "symbol" : by->second;
}

/// The part that a place belongs to. Only symbols have bounds: other parts reach from the first to the
/// last place with occurrences.
struct Part {
  std::string name;
  std::int64_t start = 0, end = 0;
};
std::optional<Part> part_of(const Observation& o, std::int64_t address, const std::string& by) {
  if (by == "module") return Part{short_path(text(o, "module")), address, address + 1};
  const auto start = number(o, "start"), end = number(o, "end");
  const std::string line = by == "line" ? text(o, "source") : std::string();
  if (!line.empty()) return Part{line, address, address + 1};
  const std::string inlined = text(o, "inlined");
  if (by == "function" && !inlined.empty()) return Part{inlined + " (inlined)", address, address + 1};
  if (!start || !end || !sensible(*start, *end) || address < *start || address >= *end) return {};
  return Part{text(o, "function"), *start, *end};
}

Profiled gather(const result::Results& results, const std::string& run, const plot::Choice& choice) {
  Profiled all{events_of(results, run, choice), {}};
  const std::string by = attribution(results, run);
  std::vector<double> totals(all.events.size(), 0);
  std::map<std::tuple<std::string, std::string, std::int64_t>, Function> functions;
  for (const Observation& o : results.observations) {
    const auto event = std::ranges::find(all.events, o.metric);
    if (!plot::is_profile(o) || o.run != run || event == all.events.end()) continue;
    const auto e = static_cast<std::size_t>(event - all.events.begin());
    const auto address = number(o, "address");
    const double value = result::as_double(o.value).value_or(0);
    if (!address) totals[e] += value; // the whole
    const auto part = address && *address >= 0 && *address < std::int64_t{1} << 62 ? part_of(o, *address, by)
                                                                                   : std::nullopt;
    if (!part) continue;
    const bool bounded = part->end - part->start > 1; // two symbols may have one name
    Function& f = functions[{text(o, "module"), part->name, bounded ? part->start : 0}];
    const bool first = f.shares.empty();
    f.module = text(o, "module");
    f.name = part->name;
    f.start = first ? part->start : std::min(f.start, part->start);
    f.end = first ? part->end : std::max(f.end, part->end);
    f.shares.resize(all.events.size());
    f.addresses.resize(all.events.size());
    f.shares[e] += value;
    f.addresses[e][*address] += value;
  }
  for (auto& [key, f] : functions) {
    for (std::size_t e = 0; e < all.events.size(); ++e) {
      const double total = totals[e] > 0 ? totals[e] : 1;
      f.shares[e] /= total;
      for (auto& [address, value] : f.addresses[e])
        value /= total;
    }
    if (f.most() >= least_share) all.functions.push_back(std::move(f));
  }
  return all;
}

void keep_hottest(std::vector<Function>& functions) {
  std::ranges::stable_sort(functions, std::greater{}, &Function::most);
  if (functions.size() > drawn_functions) functions.resize(drawn_functions);
  std::ranges::stable_sort(functions, [](const Function& a, const Function& b) {
    return std::tie(a.module, a.start) < std::tie(b.module, b.start);
  });
}

/// Widths proportional to code size, with a minimum width.
void lay_out_functions(std::vector<Function>& functions) {
  double bytes = 0, all = 0;
  for (const auto& f : functions)
    bytes += static_cast<double>(f.end - f.start);
  const auto wide = [&](const Function& f) {
    return std::max(least_width, static_cast<double>(f.end - f.start) / bytes);
  };
  for (const auto& f : functions)
    all += wide(f);
  double at = 0;
  for (auto& f : functions) {
    f.left = at;
    f.right = at += wide(f) / all;
  }
  functions.back().right = 1;
}

/// Steps: each bin holds the occurrences of equally many bytes; their sums are the function's share.
void add_steps(const Function& f, std::size_t event, plot::Series& series) {
  const auto bytes = f.end - f.start;
  const auto count = std::clamp<std::int64_t>(std::llround((f.right - f.left) * bins), 1, bytes);
  std::vector<double> sums(static_cast<std::size_t>(count), 0);
  for (const auto& [address, share] : f.addresses[event])
    sums[static_cast<std::size_t>((address - f.start) * count / bytes)] += 100 * share;
  const double wide = (f.right - f.left) / static_cast<double>(count);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double left = f.left + static_cast<double>(i) * wide;
    series.samples.push_back({left, sums[i], sums[i], sums[i]});
    series.samples.push_back({left + wide, sums[i], sums[i], sums[i]});
  }
}

/// "work::touch" of "work::touch(char*, unsigned long)".
std::string bare_name(const std::string& name) {
  const auto bracket = name.find('(', name.starts_with("(") ? name.find(')') : 0);
  std::string bare = name.substr(0, bracket);
  if (bare.size() > 40) bare = bare.substr(0, 18) + "…" + bare.substr(bare.size() - 20);
  return bare.empty() ? "?" : bare;
}

std::string percent(double share) {
  return fmt::format("{:.{}f}", 100 * share, share >= 0.0995 ? 0 : 1);
}

plot::Panel panel_of(const Profiled& p, std::size_t event) {
  plot::Panel panel;
  panel.title = p.events[event] + " (witness perf)";
  panel.y_title = "% of samples";
  panel.x_along = plot::Panel::Along::linear;
  panel.draw = plot::Panel::Draw::filled;
  plot::Series series;
  for (std::size_t i = 0; i < p.functions.size(); ++i) {
    const Function& f = p.functions[i];
    add_steps(f, event, series);
    panel.spans.push_back({f.left, f.right, event == 0 ? std::to_string(i + 1) : "", i % 2 == 1});
    panel.x_tics.push_back({f.left, fmt::format("{:#x}", f.start)});
  }
  panel.series = {series};
  return panel;
}
} // namespace

plot::Sheet compose_over_addresses(const result::Results& results, const plot::Choice& choice) {
  const auto first = std::ranges::find_if(results.observations, plot::is_profile);
  if (first == results.observations.end())
    throw bad_input("figure profile", "the results are not from recount profile",
                    "write them with recount profile -o FILE -- COMMAND");
  Profiled p = gather(results, first->run, choice);
  keep_hottest(p.functions);
  if (p.functions.empty())
    throw bad_input("figure profile", "no function with known bounds has samples",
                    "see recount profile --by address");
  lay_out_functions(p.functions);
  plot::Sheet sheet;
  sheet.name = "profile";
  for (std::size_t e = 0; e < std::min(p.events.size(), drawn_events); ++e)
    sheet.panels.push_back(panel_of(p, e));
  sheet.panels.back().x_title = "address in the file (gaps between these functions omitted)";
  sheet.caption = plot::machine_names(results);
  sheet.caption_is_key = true;
  sheet.caption.push_back(text(*first, "command").substr(0, 80));
  for (std::size_t i = 0; i < p.functions.size(); ++i) {
    std::vector<std::string> shares;
    for (std::size_t e = 0; e < sheet.panels.size(); ++e)
      shares.push_back(percent(p.functions[i].shares[e]) + " %");
    const std::string& module = p.functions[i].module;
    const std::string where =
        module == p.functions.front().module ? "" : " (" + module.substr(module.rfind('/') + 1) + ")";
    sheet.caption.push_back(
        fmt::format("{} {}{}: {}", i + 1, bare_name(p.functions[i].name), where, fmt::join(shares, ", ")));
  }
  std::vector<std::string> rest;
  for (std::size_t e = 0; e < sheet.panels.size(); ++e) {
    double drawn = 0;
    for (const auto& f : p.functions)
      drawn += f.shares[e];
    rest.push_back(percent(std::max(0.0, 1 - drawn)) + " %");
  }
  sheet.caption.push_back(fmt::format("other addresses: {}", fmt::join(rest, ", ")));
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
