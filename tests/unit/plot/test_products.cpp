// Figures of matrix products: what is drawn of them, in which colour, and what is said beside it.
#include "../report/random_files.hpp"
#include "commands/cli/commands.hpp"
#include "commands/matmul/matmul_tables.hpp"
#include "observed.hpp"
#include "show/plot/layout.hpp"
#include "show/plot/select.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace recount;

BOOST_AUTO_TEST_SUITE(figures_of_products)

namespace {

result::Observation seen(const std::string& variant, std::int64_t n, const std::string& witness,
                         const std::string& metric, double value, int repetition = 0,
                         std::int64_t block = 64) {
  return test::observed("matmul", {{"variant", variant}, {"n", n}, {"element", "f64"}, {"block", block}},
                        witness, metric, value, repetition);
}

/// simple and line at three sizes, blocks of two, by the clock three times and by the model once.
result::Results study(const std::string& counter = "model") {
  result::Results results = test::one_run();
  results.runs.front().caches = {{"L1d", 32768, 64, 8}, {"L2", 1 << 20, 64, 16}, {"L3", 1 << 24, 64, 16}};
  auto& all = results.observations;
  for (const std::int64_t n : {600, 1000, 3000})
    for (const char* variant : {"ijk", "ikj", "blocked"})
      for (const std::int64_t block : {64, 128}) {
        if (std::string(variant) != "blocked" && block > 64) continue;
        const auto size = static_cast<double>(n);
        const double seconds = size * size * size * (std::string(variant) == "ijk" ? 2e-9 : 1e-9);
        for (int r = 0; r < 3; ++r)
          all.push_back(seen(variant, n, "clock", "seconds", seconds * (1 + 0.1 * r), r, block));
        for (const char* metric : {"PAPI_L1_DCM", "PAPI_L2_DCA"})
          all.push_back(seen(variant, n, counter, metric, size * size * size / 8, 0, block));
        all.push_back(seen(variant, n, counter, "PAPI_L2_DCM", size * size * size / 16, 0, block));
        all.push_back(seen(variant, n, counter, "PAPI_LD_INS", size * size * size * 2, 0, block));
        all.push_back(seen(variant, n, counter, "PAPI_SR_INS", size * size * size, 0, block));
      }
  result::Observation peak = seen("", 1, "clock", "seconds", 0.5);
  peak.kernel = "peak";
  peak.params = {{"width", std::string("vector")}};
  all.push_back(peak);
  peak.witness = "model";
  peak.metric = "PAPI_DP_OPS";
  peak.value = 4e9;
  all.push_back(peak);
  return results;
}

const plot::Series* series(const plot::Panel& panel, const std::string& label) {
  const auto at = std::ranges::find(panel.series, label, &plot::Series::label);
  return at == panel.series.end() ? nullptr : &*at;
}

bool said(const plot::Sheet& sheet, const std::string& text) {
  return std::ranges::any_of(sheet.caption,
                             [&](const auto& line) { return line.find(text) != std::string::npos; });
}

} // namespace

BOOST_AUTO_TEST_CASE(times_are_medians_with_their_band) {
  const plot::Sheet sheet = matmul::compose_products("matmul-time", study(), {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 1U);
  const plot::Series* const simple = series(sheet.panels[0], "simple");
  BOOST_TEST_REQUIRE(simple != nullptr);
  BOOST_TEST_REQUIRE(simple->samples.size() == 3U);
  BOOST_TEST(simple->samples[0].x == 600);
  BOOST_TEST(simple->samples[0].y == 600.0 * 600 * 600 * 2e-9 * 1.1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(simple->samples[0].low < simple->samples[0].y);
  BOOST_TEST(simple->band);
  BOOST_TEST(!simple->modelled);
  BOOST_TEST(said(sheet, "median of 3 repetitions"));
  BOOST_TEST(sheet.panels[0].title == "products of doubles, by the clock");
}

BOOST_AUTO_TEST_CASE(modelled_misses_are_dashed_and_labelled) {
  const plot::Sheet sheet = matmul::compose_products("matmul-misses", study(), {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 2U);
  for (const plot::Panel& panel : sheet.panels)
    for (const plot::Series& one : panel.series)
      BOOST_TEST(one.modelled);
  BOOST_TEST(said(sheet, "modelled, not measured"));
  const plot::Sheet counted = matmul::compose_products("matmul-misses", study("perf"), {});
  BOOST_TEST(!counted.panels.at(0).series.at(0).modelled);
  BOOST_TEST(counted.panels[0].title == "L1 data-cache misses, counted by perf");
}

BOOST_AUTO_TEST_CASE(loops_have_the_same_colour_in_every_figure) {
  for (const char* name : {"matmul-time", "matmul-gflops", "matmul-misses", "matmul-hit-rates"}) {
    const plot::Sheet sheet = matmul::compose_products(name, study(), {});
    BOOST_TEST(series(sheet.panels.at(0), "simple")->linetype == 1, name);
    BOOST_TEST(series(sheet.panels.at(0), "line")->linetype == 2, name);
  }
}

BOOST_AUTO_TEST_CASE(speed_ups_are_relative_to_simple) {
  const plot::Sheet sheet = matmul::compose_products("matmul-speed-up", study(), {});
  const plot::Panel& panel = sheet.panels.at(0);
  BOOST_TEST(series(panel, "simple") == nullptr);
  for (const plot::Sample& sample : series(panel, "line")->samples) {
    BOOST_TEST(sample.y == 2, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(sample.low < 2);
    BOOST_TEST(sample.high > 2);
  }
}

BOOST_AUTO_TEST_CASE(blocks_are_plotted_by_size) {
  const plot::Sheet sheet = matmul::compose_products("matmul-blocks", study(), {});
  const plot::Series* const block = series(sheet.panels.at(0), "block, n = 1000");
  BOOST_TEST_REQUIRE(block != nullptr);
  BOOST_TEST(block->samples.at(1).x == 128);
  BOOST_TEST(series(sheet.panels[0], "line, n = 1000") != nullptr);
}

BOOST_AUTO_TEST_CASE(roofline_uses_measured_ceilings) {
  const plot::Sheet sheet = matmul::compose_products("matmul-roofline", study(), {});
  const plot::Panel& panel = sheet.panels.at(0);
  BOOST_TEST(series(panel, "line")->samples.at(0).x == 2 * 16.0 / 64, boost::test_tools::tolerance(1e-9));
  const plot::Series* const top = series(panel, "vector 8 GFLOP/s");
  BOOST_TEST_REQUIRE(top != nullptr);
  BOOST_TEST((top->look == plot::Series::Look::level));
  BOOST_TEST(said(sheet, "intensity from L2 misses, modelled"));
}

BOOST_AUTO_TEST_CASE(panels_without_data_are_omitted) {
  auto results = study();
  std::erase_if(results.observations,
                [](const auto& o) { return o.metric != "seconds" || o.kernel != "matmul"; });
  for (const char* name : {"matmul-misses", "matmul-hit-rates", "matmul-block-misses", "matmul-roofline",
                           "matmul-published", "matmul-field", "matmul-lab"})
    BOOST_TEST(matmul::compose_products(name, results, {}).panels.empty(), name);
  BOOST_TEST(plot::suitable(cli::figures(), results).entry.name == "matmul-time");
  BOOST_TEST(matmul::compose_products("matmul-time", study(), {{}, {"perf"}}).panels.empty());
}

BOOST_AUTO_TEST_CASE(published_curve_names_the_model) {
  auto results = study();
  results.observations.clear();
  result::Run table = results.runs[0];
  table.id = "P";
  table.host = "t.csv";
  table.versions = {{"published", "t.csv"}, {"machine", "some"}};
  results.runs.push_back(table);
  for (const std::int64_t n : {600, 1000})
    for (const char* witness : {"published", "model:some", "model:some~no-tlb"}) {
      results.observations.push_back(seen("ijk", n, witness, "PAPI_L1_DCM", static_cast<double>(n) * 1e6));
      if (std::string(witness) == "published") results.observations.back().run = "P";
    }
  const auto labels = [&](const plot::Sheet& sheet) {
    std::vector<std::string> all;
    for (const plot::Series& s : sheet.panels.at(0).series)
      all.push_back(s.label);
    return all;
  };
  const plot::Sheet both = matmul::compose_products("matmul-published", results, {});
  BOOST_TEST(labels(both) == (std::vector<std::string>{"simple", "", "simple without TLB"}),
             boost::test_tools::per_element());
  BOOST_TEST(said(both, "solid: published"));
  BOOST_TEST_REQUIRE(both.panels.size() == 2U);
  BOOST_TEST(both.panels[1].y_title == "model / published");
  for (const plot::Series& s : both.panels[1].series)
    for (const plot::Sample& sample : s.samples)
      BOOST_TEST(sample.y == 1);       // the model has the published values here
  BOOST_TEST(!said(both, "Some CPU")); // nothing of it came from this machine
  // A table of other columns: the model's curve has the name to itself.
  for (auto& o : results.observations)
    if (o.witness == "published") o.metric = "PAPI_L2_DCM";
  const plot::Sheet alone = matmul::compose_products("matmul-published", results, {});
  BOOST_TEST(labels(alone) == (std::vector<std::string>{"simple", "simple without TLB"}),
             boost::test_tools::per_element());
  BOOST_TEST(!said(alone, "solid"));
  BOOST_TEST(alone.panels.size() == 1U); // nothing to divide by
}

BOOST_AUTO_TEST_CASE(each_panel_of_the_laboratory_names_its_products) {
  auto results = study();
  results.observations.clear();
  for (const char* variant : {"ijk-mem", "transposed", "blocked"})
    for (const char* metric :
         {"PAPI_L1_DCM", "PAPI_L2_DCA", "PAPI_L2_DCM", "PAPI_LD_INS", "PAPI_SR_INS", "seconds"}) {
      const bool time = std::string(metric) == "seconds";
      auto o = seen(variant, 1024, time ? "clock" : "model", metric, time ? 2 : 1e6, 0, 32);
      o.params["element"] = std::string("i16");
      results.observations.push_back(o);
    }
  const plot::Sheet sheet = matmul::compose_products("matmul-lab", results, {});
  const plot::Layout layout = plot::lay_out(sheet, plot::make_canvas(plot::Format::pdf, 3.33));
  BOOST_REQUIRE(layout.panels.size() == 2U);
  for (const auto& panel : layout.panels) {
    BOOST_REQUIRE(panel.x.tics.size() == 3U);
    BOOST_TEST(panel.x.tics[0].text == "straight");
    BOOST_TEST(panel.x.tics[2].text == "block 32");
  }
}

BOOST_AUTO_TEST_CASE(a_field_has_a_panel_for_each_core_and_a_point_for_each_group) {
  result::Results results;
  const auto add = [&](const std::string& group, const std::string& core, double counted) {
    result::Run table;
    table.id = group;
    table.host = "t.csv " + group;
    table.versions = {{"published", "t.csv " + group}, {"machine", "some"}, {"microarchitecture", core}};
    results.runs.push_back(table);
    for (const int n : {600, 1000}) {
      auto o = seen("ijk", n, "published", "PAPI_L1_DCM", counted, 0);
      o.run = group;
      results.observations.push_back(o);
    }
  };
  result::Run here = study().runs[0];
  here.id = "M";
  results.runs.push_back(here);
  for (const int n : {600, 1000}) {
    auto o = seen("ijk", n, "model:some", "PAPI_L1_DCM", 300, 0);
    o.run = "M";
    results.observations.push_back(o);
  }
  add("a", "core-1", 100);
  add("b", "core-1", 200);
  add("c", "core-2", 300);
  add("d", "core-3?", 300);
  add("e", "core-4", 600);
  const plot::Sheet sheet = matmul::compose_products("matmul-field", results, {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 3U);
  BOOST_TEST(sheet.panels[0].title == "core-1, 2 groups");
  BOOST_TEST_REQUIRE(sheet.panels[0].series.size() == 2U);
  BOOST_TEST((sheet.panels[0].series[0].label == "simple" && sheet.panels[0].series[1].label.empty()));
  BOOST_TEST(sheet.panels[0].series[0].samples.at(0).y == 200);
  BOOST_TEST(sheet.panels[0].series[1].samples.at(0).y == 50);
  BOOST_TEST(sheet.panels[1].series[0].samples.at(1).y == 0);
  // All panels are on one scale, which begins below the lowest value of any and ends above the highest.
  const plot::Layout layout = plot::lay_out(sheet, plot::make_canvas(plot::Format::pdf, 7));
  BOOST_TEST_REQUIRE(layout.panels.size() == 3U);
  BOOST_TEST(sheet.panels[2].series[0].samples.at(0).y == -50);
  for (const auto& panel : layout.panels)
    BOOST_TEST((panel.y.low < -50 && panel.y.high > 200 && panel.y.low == layout.panels[0].y.low));
}

BOOST_AUTO_TEST_CASE(everything_is_within_the_page) {
  for (const auto& [entry, compose, suits] : matmul::product_figures())
    for (const double inches : {2.0, 3.33, 7.0}) {
      const plot::Sheet sheet = matmul::compose_products(entry.name, study(), {});
      if (sheet.panels.empty()) continue;
      const plot::Canvas canvas = plot::make_canvas(plot::Format::pdf, inches);
      const plot::Layout layout = plot::lay_out(sheet, canvas);
      const plot::Box page{0, 0, layout.width, layout.height};
      for (const auto& panel : layout.panels) {
        BOOST_TEST(plot::inside(panel.plot, page), entry.name);
        for (const auto& curve : panel.curves)
          if (panel.labelled && !curve.label.empty())
            BOOST_TEST(plot::inside(curve.place.box, page), entry.name);
        BOOST_TEST(panel.x.tics.size() >= 2U, entry.name);
        BOOST_TEST(!panel.x.tics.front().text.empty(),
                   entry.name); // each panel names its axis, as none shares it
        BOOST_TEST(panel.y.tics.size() >= 2U, entry.name);
      }
    }
}

BOOST_AUTO_TEST_CASE(axes_of_settings_name_what_was_run) {
  const auto wide = [](const std::string& text) { return 4.0 * static_cast<double>(text.size()); };
  const plot::Axis axis = plot::settings_axis({600, 1000, 1000, 1400, 10240}, 200, 3, wide);
  BOOST_TEST(axis.log2);
  BOOST_TEST(axis.tics.front().at == 600);
  BOOST_TEST(axis.tics.back().at == 10240);
  BOOST_TEST(!plot::settings_axis({600, 1000}, 200, 3, wide).log2);
  BOOST_TEST(plot::settings_axis({600}, 200, 3, wide).high > 600);
  const plot::Axis decades = plot::decades_axis(0.5, 3000);
  BOOST_TEST_REQUIRE(decades.tics.size() == 4U);
  BOOST_TEST(decades.tics[3].text == "1000");
}

BOOST_AUTO_TEST_SUITE_END()
