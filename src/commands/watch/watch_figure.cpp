#include "base/names.hpp"
#include "commands/watch/watch_view.hpp"

#include "show/plot/select.hpp"
#include "show/plot/sheet.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

namespace recount::watch {
namespace {
using result::Observation;

/// When an interval began.
std::int64_t begin_us(const Observation* o) {
  return std::get<std::int64_t>(o->params.at("begin_us"));
}

/// The intervals of one metric, in order.
struct MetricTrace {
  std::string metric;
  std::vector<const Observation*> intervals = {};
  [[nodiscard]] bool counted() const {
    return std::ranges::any_of(intervals,
                               [](const auto* o) { return result::as_double(o->value).has_value(); });
  }
};

/// Of the run and repetition of the first one, in the order of the file.
std::vector<MetricTrace> traces_of_run(const result::Results& results, const Observation& first) {
  std::vector<MetricTrace> all;
  for (const Observation& o : results.observations) {
    if (!plot::is_interval(o) || o.run != first.run || o.repetition != first.repetition) continue;
    auto at = std::ranges::find(all, o.metric, &MetricTrace::metric);
    if (at == all.end()) at = all.insert(at, {o.metric});
    at->intervals.push_back(&o);
  }
  for (auto& trace : all)
    std::ranges::sort(trace.intervals, {}, begin_us);
  return all;
}

/// Each interval is a step. Counts become rates, nanoseconds of processor time CPUs; metrics stay.
plot::Panel make_panel(const MetricTrace& trace) {
  const Observation& first = *trace.intervals.front();
  const bool per_second = first.unit.empty() || is_nanoseconds(first.unit.get());
  const double scale = is_nanoseconds(first.unit.get()) ? 1e-9 : 1;
  plot::Panel panel;
  panel.title = trace.metric + " (witness " + first.witness.name() + ")";
  panel.x_along = plot::Panel::Along::linear;
  panel.draw = plot::Panel::Draw::lines;
  plot::Series& series = panel.series.emplace_back();
  double most = 0;
  for (const auto* o : trace.intervals) {
    const double begin = static_cast<double>(begin_us(o)) / 1e6;
    const double value = result::as_double(o->value).value_or(std::numeric_limits<double>::quiet_NaN());
    const double y = value * scale / (per_second ? *o->seconds : 1);
    most = std::max(most, y); // not NaN: it compares as false
    for (const double x : {begin, begin + *o->seconds})
      series.samples.push_back({x, y, y, y});
  }
  const plot::Magnitude magnitude = plot::choose_magnitude(most);
  for (auto& s : series.samples)
    s.y /= magnitude.factor, s.low = s.high = s.y;
  panel.y_title = magnitude.word.empty() ? "" : magnitude.word + " ";
  panel.y_title += first.unit.empty() ? "/s" : is_nanoseconds(first.unit.get()) ? "CPUs" : first.unit;
  return panel;
}

/// The outermost sections; one that has not ended extends to the last interval.
std::vector<plot::Span> make_spans(const std::vector<result::Section>& sections, double last) {
  std::vector<plot::Span> spans;
  std::vector<std::string> open;
  std::map<std::string, bool> shades;
  for (const auto& s : sections) {
    if (s.edge == "begin") {
      if (open.empty())
        spans.push_back({s.time, last, s.name, shades.emplace(s.name, shades.size() % 2 == 1).first->second});
      open.push_back(s.name);
    } else if (s.edge == "end") {
      const auto at = std::find(open.rbegin(), open.rend(), s.name);
      if (at == open.rend()) continue;
      open.erase(std::next(at).base(), open.end());
      if (open.empty()) spans.back().end = s.time;
    }
  }
  return spans;
}

void add_sections(plot::Sheet& sheet, const result::Results& results, const Observation& first, double last) {
  constexpr std::size_t max_marked = 200;
  std::vector<result::Section> sections;
  for (const auto& s : results.sections)
    if (s.run == first.run && s.repetition == first.repetition) sections.push_back(s);
  std::ranges::sort(sections, {}, &result::Section::time);
  auto spans = make_spans(sections, last);
  if (!spans.empty()) sheet.caption.emplace_back("shaded: sections marked by the program");
  for (auto& panel : sheet.panels) {
    panel.spans = spans;
    for (auto& span : spans)
      span.label.clear(); // only in the first panel
    for (const auto& s : sections)
      if (s.edge == "mark" && sections.size() < max_marked) panel.marks.push_back({s.time, ""});
  }
}
} // namespace

plot::Sheet compose_over_time(const result::Results& results, const plot::Choice& choice) {
  constexpr std::size_t max_panels = 4;
  const auto first = std::ranges::find_if(results.observations, plot::is_interval);
  if (first == results.observations.end())
    throw bad_input("figure trace", "the results contain no intervals",
                    "write them with recount watch -o FILE or recount stat -I MS -o FILE");
  plot::Sheet sheet;
  sheet.name = "trace";
  sheet.caption = plot::machine_names(results);
  double last = 0;
  std::vector<std::string> omitted, missing;
  for (const auto& trace : traces_of_run(results, *first)) {
    if (!choice.metrics.empty() && std::ranges::find(choice.metrics, trace.metric) == choice.metrics.end())
      continue;
    if (!trace.counted()) {
      missing.push_back(trace.metric);
      sheet.warnings.push_back(fmt::format("not counted, not drawn: {} ({})", trace.metric,
                                           trace.intervals.back()->reason->text()));
    } else if (sheet.panels.size() == max_panels && choice.metrics.empty()) {
      omitted.push_back(trace.metric);
    } else {
      sheet.panels.push_back(make_panel(trace));
      last = std::max(last, sheet.panels.back().series[0].samples.back().x);
    }
  }
  if (sheet.panels.empty())
    throw bad_input("figure trace", "no selected metric was counted", "choose others with --metric");
  sheet.panels.back().x_title = "time (s)";
  if (const auto found = first->params.find("command"); found != first->params.end())
    if (const auto* const command = std::get_if<std::string>(&found->second))
      sheet.caption.push_back(command->substr(0, 80));
  add_sections(sheet, results, *first, last);
  if (!missing.empty()) sheet.caption.push_back(fmt::format("not counted: {}", fmt::join(missing, ", ")));
  if (!omitted.empty())
    sheet.warnings.push_back(fmt::format("not drawn, choose with --metric: {}", fmt::join(omitted, ", ")));
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
