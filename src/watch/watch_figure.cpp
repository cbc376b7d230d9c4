#include "watch/watch_figure.hpp"

#include "plot/plot_format.hpp"
#include "plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace recount::watch {
namespace {
using result::Observation;
constexpr std::size_t most_strips = 4;

/// When an interval began.
std::int64_t begin_of(const Observation& o) {
  return std::get<std::int64_t>(o.params.at("begin_us"));
}

/// Counts become rates, nanoseconds of processor time processors; metrics stay.
double shown(const Observation& o, double value) {
  if (o.unit.empty()) return value / *o.seconds;
  return o.unit == "ns" ? value / *o.seconds / 1e9 : value;
}

std::string shown_unit(const Observation& o) {
  if (o.unit.empty()) return "/s";
  return o.unit == "ns" ? "CPUs" : o.unit;
}

/// One metric over all intervals, each a step.
struct OneTrace {
  std::string metric, unit, reason;
  std::vector<const Observation*> intervals;
  [[nodiscard]] bool counted() const {
    return std::ranges::any_of(intervals,
                               [](const auto* o) { return result::as_double(o->value).has_value(); });
  }
};

std::vector<OneTrace> traces_of(const result::Results& results, const Observation& first) {
  std::vector<OneTrace> all;
  for (const Observation& o : results.observations) {
    if (!plot::is_interval(o) || o.run != first.run || o.repetition != first.repetition) continue;
    auto at = std::ranges::find(all, o.metric, &OneTrace::metric);
    if (at == all.end()) at = all.insert(all.end(), {o.metric, shown_unit(o), "", {}});
    at->intervals.push_back(&o);
    if (!o.reason.empty()) at->reason = o.reason;
  }
  for (auto& trace : all)
    std::ranges::sort(trace.intervals, {}, [](const auto* o) { return begin_of(*o); });
  return all;
}

plot::Panel strip(const OneTrace& trace) {
  plot::Panel panel;
  panel.title = trace.metric + " (witness " + trace.intervals.front()->witness + ")";
  panel.x_along = plot::Panel::Along::linear;
  panel.draw = plot::Panel::Draw::lines;
  plot::Series series;
  double most = 0;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (const auto* o : trace.intervals) {
    const double begin = static_cast<double>(begin_of(*o)) / 1e6;
    const auto value = result::as_double(o->value);
    const double y = value ? shown(*o, *value) : none;
    if (value) most = std::max(most, y);
    for (const double x : {begin, begin + *o->seconds})
      series.samples.push_back({x, y, y, y});
  }
  const plot::Magnitude magnitude = plot::magnitude_of(most);
  for (auto& s : series.samples)
    s.y /= magnitude.factor, s.low = s.high = s.y;
  panel.y_title = magnitude.word.empty() ? trace.unit : magnitude.word + " " + trace.unit;
  panel.series = {series};
  return panel;
}

/// The outermost sections; one that has not ended lasts to the end.
std::vector<plot::Span> spans_of(const std::vector<result::Section>& sections, double last) {
  std::vector<plot::Span> spans;
  std::vector<std::string> open;
  for (const auto& s : sections) {
    if (s.edge == "begin") {
      if (open.empty()) spans.push_back({s.time, last, s.name, false});
      open.push_back(s.name);
    } else if (s.edge == "end") {
      const auto at = std::find(open.rbegin(), open.rend(), s.name);
      if (at == open.rend()) continue;
      open.erase(std::next(at).base(), open.end());
      if (open.empty()) spans.back().end = s.time;
    }
  }
  std::map<std::string, bool> shades;
  for (auto& span : spans)
    span.dark = shades.emplace(span.label, shades.size() % 2 == 1).first->second;
  return spans;
}

void add_sections(plot::Sheet& sheet, const result::Results& results, const Observation& first, double last) {
  std::vector<result::Section> sections;
  for (const auto& s : results.sections)
    if (s.run == first.run && s.repetition == first.repetition) sections.push_back(s);
  std::ranges::sort(sections, {}, &result::Section::time);
  const auto spans = spans_of(sections, last);
  for (auto& panel : sheet.panels) {
    panel.spans = spans;
    if (&panel != &sheet.panels.front())
      for (auto& span : panel.spans)
        span.label.clear();
    for (const auto& s : sections)
      if (s.edge == "mark" && sections.size() < 200) panel.marks.push_back({s.time, ""});
  }
  if (!spans.empty()) sheet.caption.emplace_back("shaded: sections marked by the program");
}
} // namespace

plot::Sheet compose_over_time(const result::Results& results, const plot::Choice& choice) {
  const auto first = std::ranges::find_if(results.observations, plot::is_interval);
  if (first == results.observations.end())
    throw bad_input("figure trace", "the results contain no intervals",
                    "write them with recount watch -o FILE or recount stat -I MS -o FILE");
  plot::Sheet sheet;
  sheet.name = "trace";
  sheet.caption = plot::machine_names(results);
  double last = 0;
  std::vector<std::string> left_out, missing;
  for (const auto& trace : traces_of(results, *first)) {
    const bool chosen =
        choice.metrics.empty() || std::ranges::find(choice.metrics, trace.metric) != choice.metrics.end();
    if (!chosen) continue;
    if (!trace.counted()) {
      missing.push_back(trace.metric);
      sheet.warnings.push_back(fmt::format("not counted, not drawn: {} ({})", trace.metric, trace.reason));
    } else if (sheet.panels.size() == most_strips && choice.metrics.empty()) {
      left_out.push_back(trace.metric);
    } else {
      sheet.panels.push_back(strip(trace));
      last = std::max(last, sheet.panels.back().series[0].samples.back().x);
    }
  }
  if (sheet.panels.empty())
    throw bad_input("figure trace", "no selected metric was counted", "choose others with --metric");
  sheet.panels.back().x_title = "time (s)";
  if (const auto command = first->params.find("command"); command != first->params.end())
    sheet.caption.push_back(std::get<std::string>(command->second).substr(0, 80));
  add_sections(sheet, results, *first, last);
  if (!missing.empty()) sheet.caption.push_back(fmt::format("not counted: {}", fmt::join(missing, ", ")));
  if (!left_out.empty())
    sheet.warnings.push_back(fmt::format("not drawn, choose with --metric: {}", fmt::join(left_out, ", ")));
  return sheet;
}

plot::Figure trace_figure() {
  return {{"trace", "rates over time, one panel per metric, with the sections marked by the program",
           "results of recount watch or recount stat -I"},
          compose_over_time,
          [](const auto& results, const auto&) {
            return std::ranges::any_of(results.observations, plot::is_interval);
          }};
}

} // namespace recount::watch
