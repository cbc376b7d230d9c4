// What of the results gets into a figure, and what is said about the rest.
#include "show/plot/select.hpp"
#include "unit/plot/synthetic.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

using namespace recount::plot;

using namespace recount;

BOOST_AUTO_TEST_SUITE(composition)

namespace {
bool said(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const auto& line) { return line.find(text) != std::string::npos; });
}

std::string problem(const std::string& name, const result::Results& results,
                    const plot::Choice& choice = {}) {
  try {
    static_cast<void>(plot::compose(name, results, choice));
  } catch (const Error& error) {
    BOOST_CHECK(error.kind() == ErrorKind::bad_input);
    return error.what();
  }
  return {};
}
} // namespace

BOOST_AUTO_TEST_CASE(access_time_has_a_curve_per_size) {
  const plot::Sheet sheet = plot::compose("access-time", timed_sweep(), {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 1U);
  const plot::Panel& panel = sheet.panels[0];
  BOOST_TEST_REQUIRE(panel.series.size() == 5U);
  BOOST_TEST(panel.series[0].label == "4 KiB");
  BOOST_TEST(panel.series[4].label == "64 KiB");
  BOOST_TEST(panel.series[0].samples.size() == 5U);
  BOOST_TEST(panel.series[0].samples[2].y == 1.26, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(panel.series[0].band);
  BOOST_TEST(panel.title.find("clock") != std::string::npos);
  BOOST_TEST(said(sheet.caption, "Some CPU @ 3 GHz"));
  BOOST_TEST(said(sheet.caption, "band: range"));
  BOOST_TEST(!said(sheet.caption, "modelled"));
}

BOOST_AUTO_TEST_CASE(kernels_with_single_points_are_left_out_with_a_warning) {
  auto results = timed_sweep(1);
  const auto strided = results.observations;
  for (auto o : strided) {
    o.kernel = "chase";
    if (result::integer(o.params, "stride") == 64) results.observations.push_back(o);
  }
  const plot::Sheet sheet = plot::compose("access-time", results, {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 1U);
  BOOST_TEST(sheet.panels[0].title.starts_with("kernel stride"));
  BOOST_TEST(said(sheet.warnings, "not drawn, no curve has two values: chase"));
  // Against size both have curves, too many for one panel.
  const plot::Sheet sizes = plot::compose("working-set", results, {});
  BOOST_TEST_REQUIRE(sizes.panels.size() == 1U);
  for (auto o : strided) {
    o.kernel = "random";
    results.observations.push_back(o);
  }
  const plot::Sheet crowded = plot::compose("working-set", results, {});
  BOOST_TEST_REQUIRE(crowded.panels.size() == 3U);
  BOOST_TEST(crowded.panels[0].title == "kernel chase, by the clock, stride 64 B");
  // More kernels than panels: all of them are drawn.
  results.observations.clear();
  for (int k = 0; k < 8; ++k)
    for (auto o : strided) {
      o.kernel = "k" + std::to_string(k);
      if (result::integer(o.params, "stride") == 64) results.observations.push_back(o);
    }
  std::size_t drawn = 0;
  for (const plot::Panel& panel : plot::compose("working-set", results, {}).panels)
    drawn += panel.series.size();
  BOOST_TEST(drawn == 8U);
}

BOOST_AUTO_TEST_CASE(curves_that_no_colours_tell_apart_are_refused) {
  const auto curves = [](std::int64_t count) {
    auto results = timed_sweep(1);
    std::erase_if(results.observations,
                  [](const auto& o) { return result::integer(o.params, "stride") != 1; });
    const auto few = std::exchange(results.observations, {});
    for (std::int64_t rounds = 1; rounds <= count; ++rounds)
      for (auto o : few) {
        o.params["rounds"] = rounds;
        results.observations.push_back(std::move(o));
      }
    return results;
  };
  BOOST_TEST(plot::compose("working-set", curves(48), {}).panels.size() == 6U);
  BOOST_TEST(problem("working-set", curves(49)).find("7 panels, at most 6 fit on a page") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_size_has_one_colour_and_marker_in_every_figure) {
  std::map<std::string, std::set<int>> lines;
  result::Results few = timed_sweep();
  std::erase_if(few.observations, [](const auto& o) { return result::integer(o.params, "size") < 16384; });
  for (const plot::Sheet& sheet :
       {plot::compose("access-time", timed_sweep(), {}), plot::compose("access-time", few, {}),
        plot::compose("misses", missing_sweep(), {})})
    for (const auto& panel : sheet.panels)
      for (const auto& series : panel.series)
        lines[series.label].insert(series.linetype);
  BOOST_TEST(lines.size() == 5U);
  std::set<int> all;
  for (const auto& [size, of] : lines) {
    BOOST_TEST(of.size() == 1U, size);
    all.insert(of.begin(), of.end());
  }
  BOOST_TEST(all.size() == 5U);
  BOOST_TEST(!all.contains(0));
}

BOOST_AUTO_TEST_CASE(modelled_and_missing_series_are_named) {
  const plot::Sheet sheet = plot::compose("misses", missing_sweep(), {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 2U);
  for (const auto& panel : sheet.panels) {
    BOOST_TEST(panel.title.find("modelled") != std::string::npos);
    for (const auto& s : panel.series)
      BOOST_TEST(s.modelled);
  }
  BOOST_TEST(sheet.panels[0].series[4].samples[0].y == 1.0);
  BOOST_TEST(said(sheet.caption, "modelled, not measured"));
  BOOST_TEST(said(sheet.caption, "not counted by perf: PAPI_L1_DCM, PAPI_L2_DCM"));
  BOOST_TEST(said(sheet.warnings, "no such PMU on this machine"));
}

BOOST_AUTO_TEST_CASE(counted_witness_is_preferred_to_the_model) {
  auto results = missing_sweep();
  for (auto& o : results.observations) {
    if (o.witness == "perf") o.value = std::int64_t{5};
  }
  const plot::Sheet sheet = plot::compose("misses", results, {});
  BOOST_TEST(!sheet.panels[0].series[0].modelled);
  BOOST_TEST(said(sheet.warnings, "not drawn, select with --witness: model"));
  const plot::Sheet both = plot::compose("working-set-misses", results, {{"PAPI_L1_DCM"}, {"perf", "model"}});
  BOOST_TEST(said(both.caption, "dashed: modelled, not measured"));
}

BOOST_AUTO_TEST_CASE(requested_witness_without_values_is_an_error) {
  const auto text = problem("misses", missing_sweep(), {{}, {"perf"}});
  BOOST_TEST(text.find("not counted") != std::string::npos);
  BOOST_TEST(text.find("no such PMU on this machine") != std::string::npos);
  BOOST_TEST(text.find("this figure needs cache misses") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unsuitable_results_are_described) {
  const auto text = problem("misses", timed_sweep());
  BOOST_TEST(text.find("kernel stride with seconds by clock") != std::string::npos);
  BOOST_TEST(problem("access-time", {}).find("no observations") != std::string::npos);
  BOOST_CHECK_THROW(static_cast<void>(plot::suitable(plot::curve_figures(), {})), Error);
}

BOOST_AUTO_TEST_CASE(unknown_figures_name_the_nearest) {
  try {
    static_cast<void>(plot::find(plot::curve_figures(), "acces-time"));
    BOOST_ERROR("accepted");
  } catch (const Error& error) {
    BOOST_TEST(std::string(error.what()).find("access-time") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(the_working_set_shows_stated_capacities_of_this_machine_only) {
  const plot::Sheet sheet = plot::compose("working-set", timed_sweep(), {});
  BOOST_TEST_REQUIRE(sheet.panels[0].marks.size() == 2U);
  BOOST_TEST(sheet.panels[0].marks[0].label == "L1d 32 KiB");
  BOOST_TEST(said(sheet.caption, "stated capacities"));
  auto described = missing_sweep();
  for (auto& o : described.observations)
    o.witness = "model:i7-9700";
  std::erase_if(described.observations, [](const auto& o) { return !result::as_double(o.value); });
  BOOST_TEST(plot::compose("working-set-misses", described, {}).panels[0].marks.empty());
}

BOOST_AUTO_TEST_CASE(a_point_without_a_value_breaks_the_line) {
  auto results = timed_sweep(1);
  results.observations[2].value = std::monostate{};
  results.observations[2].reason = "lost";
  const plot::Sheet sheet = plot::compose("access-time", results, {});
  BOOST_TEST(std::isnan(sheet.panels[0].series[0].samples[2].y));
  BOOST_TEST(said(sheet.warnings, "without a value (lost)"));
}

BOOST_AUTO_TEST_CASE(disturbance_and_multiplexing_are_in_the_caption) {
  auto results = timed_sweep();
  results.observations[0].flags = {{Flag::Kind::steal, "steal 3 ms (30 %)", 30.0}};
  results.observations[1].enabled_ns = 100;
  results.observations[1].running_ns = 40;
  const plot::Sheet sheet = plot::compose("access-time", results, {});
  BOOST_TEST(said(sheet.caption, "1 of 75 repetitions disturbed"));
  BOOST_TEST(said(sheet.caption, "counted at least 40 % of the time"));
}

BOOST_AUTO_TEST_CASE(the_figure_that_suits_is_chosen) {
  const auto figures = plot::curve_figures();
  BOOST_TEST(plot::suitable(figures, timed_sweep()).entry.name == "access-time");
  BOOST_TEST(plot::suitable(figures, missing_sweep()).entry.name == "misses");
  auto one_stride = timed_sweep();
  std::erase_if(one_stride.observations,
                [](const auto& o) { return std::get<std::int64_t>(o.params.at("stride")) != 64; });
  BOOST_TEST(plot::suitable(figures, one_stride).entry.name == "working-set");
}

BOOST_AUTO_TEST_CASE(dashed_is_named_only_for_lines) {
  plot::Series series;
  series.modelled = true;
  series.samples = {{1, 1, 1, 1}, {2, 2, 2, 2}};
  plot::Sheet sheet;
  sheet.panels.resize(1);
  sheet.panels[0].series = {series};
  BOOST_TEST(plot::modelled_text(sheet, true) == "dashed: modelled, not measured");
  BOOST_TEST(plot::modelled_text(sheet, false) == "modelled, not measured");
  sheet.panels[0].series[0].look = plot::Series::Look::points;
  BOOST_TEST(plot::modelled_text(sheet, true) == "open markers: modelled, not measured");
}

BOOST_AUTO_TEST_SUITE_END()
