// The figure of a check: every mark, name and remark stands on the page, whatever was counted.
#include "commands/check/check_output.hpp"
#include "run/verdict/index.hpp"
#include "show/plot/layout.hpp"
#include "unit/plot/synthetic.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace recount::plot;

using namespace recount;

BOOST_AUTO_TEST_SUITE(rows)

namespace {

check::PresetVerdict counts(const std::string& preset, double perf, std::optional<double> papi,
                            double stated = 1000, double beside = 0) {
  check::Trial t;
  t.preset = t.metric = preset;
  t.kernel = "faults";
  t.stated = check::Stated{stated, beside, beside, "1 per page"};
  t.perf.values = {{perf, perf}, {perf, perf}};
  if (papi) {
    t.papi.values = {{*papi, *papi}, {*papi, *papi}};
    t.differences = {{perf - *papi, perf - *papi}};
  }
  return check::verdicts(std::vector{t}, {}).front();
}

std::vector<check::PresetVerdict> all_kinds() {
  return {counts("PAPI_TLB_DM", 1000, 1000),
          counts("PAPI_TLB_IM", 2000, 2000),
          counts("PAPI_L1_DCM", 0, 0),
          counts("PAPI_L2_DCM", -1000, 1000),
          counts("PAPI_FP_OPS", 250, 250),
          counts("PAPI_TOT_CYC", 700, 700, 1000, 800),
          counts("PAPI_L3_TCM", 1e7, 1e7),
          counts("mem:0x200000000000/8:rw", 1000, {}),
          counts("perf::CONTEXT-SWITCHES:u", 1, 1)};
}

plot::Sheet sheet() {
  return check::compose_agreement(all_kinds(), timed_sweep(1));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_row_is_a_share_of_what_is_stated) {
  const plot::Sheet s = sheet();
  BOOST_TEST_REQUIRE(s.panels.size() == 1U);
  const auto& all = s.panels[0].rows;
  BOOST_TEST_REQUIRE(all.size() == 9U);
  BOOST_TEST(all[0].label == "TLB_DM");
  BOOST_TEST(all[0].remark == "agrees");
  BOOST_TEST(all[0].good);
  BOOST_TEST(all[1].perf->value == 2);
  BOOST_TEST(all[1].remark == "meaning differs");
  BOOST_TEST(!all[1].good);
  BOOST_TEST(all[2].remark == "dead");
  BOOST_TEST(all[5].stated.low == 0.2);
  BOOST_TEST(all[5].stated.high == 1.8);
  BOOST_TEST(!all[7].papi.has_value());
  BOOST_TEST(all[8].label == "CONTEXT-SWITCHES:u");
  BOOST_TEST(s.caption.front() == "Some CPU @ 3 GHz");
}

BOOST_AUTO_TEST_CASE(everything_is_within_the_page) {
  const plot::Sheet s = sheet();
  const plot::Panel& panel = s.panels[0];
  for (const plot::Format format : {plot::Format::pdf, plot::Format::tikz, plot::Format::dumb}) {
    for (const double inches : {2.5, 3.33, 7.0}) {
      const plot::Canvas canvas = plot::make_canvas(format, inches);
      const plot::Layout l = plot::lay_out(s, canvas);
      const plot::PanelLook& look = l.panels.at(0);
      BOOST_TEST_REQUIRE(look.rows.has_value());
      BOOST_TEST(plot::inside(look.plot, {0, l.caption_top, l.width, l.height}));
      BOOST_TEST(look.plot.width() > 0.15 * l.width);
      for (const auto& name : look.rows->names)
        BOOST_TEST(canvas.wide(name) < look.plot.left, name);
      for (const plot::ShareRow& row : panel.rows) {
        BOOST_TEST(look.rows->remarks + canvas.wide(row.remark) <= l.width);
        for (const auto& share : {row.perf, row.papi})
          if (share) {
            const double x = look.rows->x(share->value);
            BOOST_TEST(x > look.x.low);
            BOOST_TEST(x < look.x.high);
          }
      }
      double right = -1e9; // tics beside one another
      for (const plot::Tic& tic : look.x.tics) {
        const double centre = look.x.place(tic.at) * look.plot.width(), half = canvas.wide(tic.text) / 2;
        if (inches > 3 || format == plot::Format::dumb) BOOST_TEST(centre - half > right, tic.text);
        right = centre + half;
      }
      BOOST_TEST(look.rows->key.back().x + 9 + canvas.wide("modelled, with its tolerance") <=
                 (format == plot::Format::dumb || inches > 3 ? l.width : 1e9));
    }
  }
}

BOOST_AUTO_TEST_CASE(shares_off_the_axis_have_a_lane) {
  const plot::Layout l = plot::lay_out(sheet(), plot::make_canvas(plot::Format::pdf, 3.33));
  const plot::RowsLook& rows = *l.panels[0].rows;
  for (const double share : {0.0, -1.0, 1.0 / 1000, -1e30})
    BOOST_TEST(rows.x(share) == rows.below);
  BOOST_TEST(rows.x(10'000) == rows.above);
  BOOST_TEST(rows.x(0.25) == 0.25);
  BOOST_TEST(l.panels[0].x.tics.front().text == "≤ 0");
  BOOST_TEST(l.panels[0].x.tics.back().text == "> 128");
  // Where all is well there are no lanes.
  const plot::Sheet good = check::compose_agreement({counts("PAPI_TLB_DM", 1000, 1000)}, timed_sweep(1));
  const plot::Axis x = plot::lay_out(good, plot::make_canvas(plot::Format::pdf, 3.33)).panels[0].x;
  BOOST_TEST(x.tics.size() >= 3U);
  BOOST_TEST(x.low > 0.2);
  BOOST_TEST(x.high < 5);
}

BOOST_AUTO_TEST_CASE(a_hundred_rows_are_as_far_apart_as_ten) {
  std::vector<check::PresetVerdict> many;
  for (int i = 0; i < 100; ++i)
    many.push_back(counts("PAPI_X" + std::to_string(i), 1000, 1000));
  const plot::Canvas canvas = plot::make_canvas(plot::Format::pdf, 3.33);
  const plot::Layout large = plot::lay_out(check::compose_agreement(many, timed_sweep(1)), canvas);
  many.resize(10);
  const plot::Layout small = plot::lay_out(check::compose_agreement(many, timed_sweep(1)), canvas);
  BOOST_TEST(std::abs(large.panels[0].plot.height() / 100 - small.panels[0].plot.height() / 10) < 1e-9);
}

BOOST_AUTO_TEST_CASE(nothing_to_draw_is_an_error) {
  auto stated_nothing = counts("PAPI_TLB_DM", 5, 5, 0);
  BOOST_CHECK_THROW(static_cast<void>(check::compose_agreement({stated_nothing}, timed_sweep(1))), Error);
  BOOST_TEST(!check::is_check(timed_sweep(1)));
  BOOST_TEST(check::read_verdicts(timed_sweep(1)).empty());
  // What cannot be drawn beside what can is value.
  const plot::Sheet some =
      check::compose_agreement({stated_nothing, counts("PAPI_TLB_IM", 1000, 1000)}, timed_sweep(1));
  BOOST_TEST(some.warnings.at(0).find("PAPI_TLB_DM") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
