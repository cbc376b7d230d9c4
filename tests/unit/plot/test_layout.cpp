// Everything stands on the page, at every width, for few curves and for many.
#include "plot/layout.hpp"
#include "plot/select.hpp"
#include "plot/style.hpp"
#include "unit/plot/synthetic.hpp"

#include <boost/test/unit_test.hpp>

#include <string_view>

using namespace recount::plot;

using namespace recount;

BOOST_AUTO_TEST_SUITE(layout)

BOOST_AUTO_TEST_CASE(plots_labels_and_captions_stay_on_the_page) {
  for (const auto& results : {timed_sweep(), missing_sweep()}) {
    for (const double inches : {2.0, 3.33, 7.0, 20.0}) {
      for (const auto& r : plot::recipes()) {
        if (!plot::drawable(plot::select(r, results, {}))) continue;
        const plot::Canvas canvas = plot::canvas_of(plot::Format::pdf, inches);
        const plot::Sheet sheet = plot::compose(r, results, {});
        const plot::Layout l = plot::lay_out(sheet, canvas);
        const plot::Box page{0, 0, l.width, l.height};
        BOOST_TEST(l.width == inches * 72);
        for (const auto& panel : l.panels) {
          BOOST_TEST(plot::inside(panel.plot, page));
          BOOST_TEST(panel.plot.width() > 0.4 * inches * 72 / (l.panels.size() > 1 ? 2.0 : 1.0));
          for (const auto& curve : panel.curves)
            if (panel.labelled && !curve.label.empty()) BOOST_TEST(plot::inside(curve.place.box, page));
          for (const auto& m : panel.marks)
            BOOST_TEST(plot::inside(plot::box_around(m.at, canvas.wide(m.label), 7), page));
        }
        for (std::size_t i = 0; i < l.panels.size(); ++i)
          for (std::size_t j = 0; j < i; ++j)
            BOOST_TEST(!plot::overlap(l.panels[i].plot, l.panels[j].plot));
        BOOST_TEST(l.caption_top < l.panels.back().plot.bottom);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_hundred_ordered_curves_still_have_a_key) {
  auto results = timed_sweep(1);
  std::vector<result::Observation> many;
  for (const auto& o : results.observations) {
    for (std::int64_t k = 0; k < 20; ++k) {
      many.push_back(o);
      many.back().params["size"] = std::get<std::int64_t>(o.params.at("size")) + k * 64;
    }
  }
  results.observations = many;
  const plot::Layout l =
      plot::lay_out(plot::compose("access-time", results, {}), plot::canvas_of(plot::Format::pdf, 3.33));
  const auto& panel = l.panels[0];
  BOOST_TEST(!panel.labelled);
  BOOST_TEST(panel.plot.width() > 80);
  int named = 0;
  for (const auto& c : panel.curves) {
    BOOST_TEST((c.linetype >= plot::first_step && c.linetype < plot::first_step + plot::steps));
    named += c.label.empty() ? 0 : 1;
  }
  BOOST_TEST(named <= plot::steps);
}

BOOST_AUTO_TEST_CASE(steps_of_a_hierarchy_stand_on_a_logarithmic_axis) {
  auto results = timed_sweep(1);
  const auto axis = [&] {
    return plot::lay_out(plot::compose("working-set", results, {}), plot::canvas_of(plot::Format::pdf, 3.33))
        .panels[0]
        .y;
  };
  BOOST_TEST(!axis().log2); // 1.25 to 5 ns
  for (auto& o : results.observations) {
    if (std::get<std::int64_t>(o.params["size"]) == 65536) o.value = 80e-9 * static_cast<double>(*o.accesses);
  }
  BOOST_TEST(axis().log2);
  BOOST_TEST(axis().tics.size() >= 3U);
  for (auto& o : results.observations)
    o.value = 0.0; // no logarithm: linear again
  BOOST_TEST(!axis().log2);
}

BOOST_AUTO_TEST_CASE(the_style_defines_every_linetype_that_is_used) {
  const std::string style = plot::style_script().text();
  for (const int base : {0, plot::modelled}) {
    for (int lt = 1; lt <= plot::categories; ++lt)
      BOOST_TEST(style.find("set linetype " + std::to_string(base + lt) + " ") != std::string_view::npos);
    for (int k = 0; k < plot::steps; ++k)
      BOOST_TEST(style.find("set linetype " + std::to_string(base + plot::first_step + k) + " ") !=
                 std::string_view::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
