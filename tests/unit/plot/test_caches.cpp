// The figures of an inference of caches: what is found is marked, and what is not on record is not drawn.
#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/view/caches_sections.hpp"
#include "observed.hpp"
#include "show/plot/layout.hpp"
#include "unit/caches/model_sampler.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

BOOST_AUTO_TEST_SUITE(caches)

namespace {

recount::plot::Sheet compose(const std::string& name, const recount::result::Results& results) {
  const auto figures = recount::caches::caches_figures();
  return recount::plot::find(figures, name).compose(results, {});
}

/// Misses as counters give them, no times.
const recount::result::Results& counted() {
  static const recount::result::Results results = [] {
    recount::result::Results made;
    made.runs.push_back({});
    made.runs[0].id = "R";
    made.runs[0].cpu = "Some CPU";
    record_model(made, made.runs[0], "i7-9700");
    return made;
  }();
  return results;
}

/// Times of working sets as a clock has them, nothing else: L1 to 32 KiB, L2 to 1 MiB.
recount::result::Results timed() {
  recount::result::Results results;
  results.runs.push_back({});
  auto& run = results.runs[0];
  run.id = "R";
  run.cpu = "Some CPU";
  run.caches = {{"L1d", 32 << 10, 64, 8}, {"L2", 1 << 20, 64, 16}};
  recount::caches::Abilities can;
  can.witness = "clock";
  can.times = true;
  can.max_bytes = 64 << 20;
  can.at_once = 12;
  run.plan = recount::caches::record_plan(can);
  for (const auto& point : [] {
         std::vector<recount::kernel::Pattern> all;
         for (double size = 2048; size <= 64 << 20; size *= std::exp2(0.25))
           all.push_back(recount::caches::survey_pattern(std::llround(size / 1024) * 1024));
         return all;
       }()) {
    const auto at = recount::kernel::to_point(point, 1);
    const std::int64_t bytes = point.count * 64;
    const double seconds = (bytes <= 32 << 10 ? 1.0 : bytes <= 1 << 20 ? 4.0 : 80.0) * 1e-9;
    results.observations.push_back(
        recount::test::observed(at.kernel, at.params, "clock", "seconds", seconds));
    results.observations.back().accesses = 1;
  }
  return results;
}

bool marked(const recount::plot::Panel& panel, const std::string& text) {
  return std::ranges::any_of(
      panel.marks, [&](const recount::plot::Mark& m) { return m.label.find(text) != std::string::npos; });
}

std::string refusal(const std::string& name, const recount::result::Results& results) {
  try {
    static_cast<void>(compose(name, results));
  } catch (const recount::Error& error) {
    return error.what();
  }
  return {};
}

} // namespace

BOOST_AUTO_TEST_CASE(the_summary_shows_what_was_found) {
  const recount::plot::Sheet sheet = compose("caches", counted());
  BOOST_TEST(sheet.panels.size() == 2U); // line, ways; no time was taken
  BOOST_TEST(std::ranges::any_of(sheet.caption, [](const auto& c) {
    return c.find("L1d: 32 KiB, 8 ways, line 64 B") != std::string::npos;
  }));
}

BOOST_AUTO_TEST_CASE(disturbed_rounds_are_named_in_the_caption) {
  auto results = timed();
  for (auto& o : results.observations)
    if (recount::result::as_double(o.value) == 80.0e-9)
      o.flags = {{recount::Flag::Kind::preempted, "preempted 2 times (40 %)", 40.0}};
  const auto sheet = compose("caches-latency", results);
  BOOST_TEST(std::ranges::any_of(sheet.caption, [](const auto& c) {
    return c.find("repetitions disturbed (more than 1 % of their time lost)") != std::string::npos;
  }));
  BOOST_TEST(std::ranges::none_of(sheet.caption,
                                  [](const auto& c) { return c.find("miss + 76") != std::string::npos; }));
}

BOOST_AUTO_TEST_CASE(ways_are_where_the_curve_no_longer_falls) {
  const recount::plot::Panel panel = compose("caches-ways", counted()).panels.at(0);
  const recount::plot::Series& first = panel.series.at(0);
  BOOST_TEST(first.label == "L1d: 8 ways");
  BOOST_TEST(first.samples.back().y == 8);
  for (const auto& s : first.samples)
    if (s.x >= 4096) BOOST_TEST(s.y == 8);
  BOOST_TEST(marked(panel, "4 KiB per way"));
}

BOOST_AUTO_TEST_CASE(latency_is_marked_with_what_was_found_and_what_is_stated) {
  const recount::plot::Panel panel = compose("caches-latency", timed()).panels.at(0);
  BOOST_TEST(panel.series.at(0).samples.size() > 20U);
  BOOST_TEST(!panel.series[0].modelled);
  // Nothing but a survey is on record: no capacity is found, what is stated is called so.
  BOOST_TEST(marked(panel, "L1d 32 KiB stated"));
}

BOOST_AUTO_TEST_CASE(every_text_stays_on_the_page) {
  for (const char* name : {"caches", "caches-ways", "caches-line"}) {
    const recount::plot::Sheet sheet = compose(name, counted());
    for (const double width : {3.33, 7.0}) {
      const recount::plot::Canvas canvas = recount::plot::make_canvas(recount::plot::Format::pdf, width);
      const recount::plot::Layout layout = recount::plot::lay_out(sheet, canvas);
      for (const auto& line : layout.caption)
        BOOST_TEST(canvas.wide(line) <= layout.width, name << ": " << line);
      for (std::size_t i = 0; i < layout.panels.size(); ++i) {
        const auto& look = layout.panels[i];
        BOOST_TEST(look.plot.width() > 60, name);
        BOOST_TEST(look.title.x + canvas.wide(sheet.panels[i].title) <= layout.width, sheet.panels[i].title);
        for (const auto& tic : look.x.tics)
          BOOST_TEST(look.plot.left + look.x.place(tic.at) * look.plot.width() + canvas.wide(tic.text) / 2 <=
                         layout.width,
                     name << " " << tic.text);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(missing_data_is_reported) {
  BOOST_TEST(refusal("caches-latency", counted()).find("the results have no times") != std::string::npos);
  BOOST_TEST(refusal("caches-line", timed()).find("the results have no pairs") != std::string::npos);
  BOOST_TEST(refusal("caches", {}).find("recount caches -o FILE") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
