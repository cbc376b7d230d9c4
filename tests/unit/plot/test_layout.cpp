// Everything stands on the page, at every width, for few curves and for many.
#include "show/plot/layout.hpp"
#include "show/plot/select.hpp"
#include "unit/plot/synthetic.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

using namespace recount::plot;

using namespace recount;

BOOST_AUTO_TEST_SUITE(layout)

BOOST_AUTO_TEST_CASE(plots_labels_and_captions_stay_on_the_page) {
  for (const auto& results : {timed_sweep(), missing_sweep()}) {
    for (const double inches : {2.0, 3.33, 7.0, 20.0}) {
      for (const auto& r : plot::recipes()) {
        if (!plot::drawable(plot::select(r, results, {}))) continue;
        const plot::Canvas canvas = plot::make_canvas(plot::Format::pdf, inches);
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

BOOST_AUTO_TEST_CASE(labels_of_marks_never_overlap_and_stay_on_the_page) {
  plot::Sheet sheet;
  sheet.name = "caches-latency";
  plot::Panel panel;
  plot::Series series;
  series.label = "times";
  series.samples = {{1024, 1, 1, 1}, {1 << 28, 100, 100, 100}};
  panel.series = {series};
  panel.marks = {{32768, "L1d 32 KiB"},
                 {950000, "L2 about 928 KiB"},
                 {6e6, "L3 about 6 MiB"},
                 {3.3e7, "L3 32 MiB stated"}};
  sheet.panels = {panel};
  for (const double inches : {3.33, 7.0}) {
    const plot::Canvas canvas = plot::make_canvas(plot::Format::pdf, inches);
    const plot::Layout l = plot::lay_out(sheet, canvas);
    const auto& marks = l.panels.at(0).marks;
    BOOST_TEST_REQUIRE(marks.size() == 4U);
    const auto box = [&](const plot::MarkLook& m) { return plot::box_around(m.at, canvas.wide(m.label), 7); };
    for (std::size_t i = 0; i < marks.size(); ++i) {
      BOOST_TEST(plot::inside(box(marks[i]), {0, 0, inches * 72, l.height}));
      for (std::size_t k = 0; k < i; ++k)
        BOOST_TEST(!plot::overlap(box(marks[i]), box(marks[k])), marks[i].label << " and " << marks[k].label);
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
      plot::lay_out(plot::compose("access-time", results, {}), plot::make_canvas(plot::Format::pdf, 3.33));
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

BOOST_AUTO_TEST_CASE(steps_of_a_hierarchy_use_a_logarithmic_axis) {
  auto results = timed_sweep(1);
  const auto axis = [&] {
    return plot::lay_out(plot::compose("working-set", results, {}),
                         plot::make_canvas(plot::Format::pdf, 3.33))
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

BOOST_AUTO_TEST_CASE(names_of_levels_close_to_one_another_do_not_overlap) {
  for (const double inches : {3.33, 7.0})
    for (const double gap : {0.0, 0.01, 0.1, 1.0}) {
      plot::Sheet sheet;
      plot::Panel panel;
      panel.x_along = plot::Panel::Along::settings;
      panel.y_title = "GFLOP/s";
      for (int k = 0; k < 3; ++k) {
        plot::Series curve, level;
        curve.label = curve.compact = "block, n = " + std::to_string(4096 + 2048 * k);
        level.label = level.compact = "line, n = " + std::to_string(4096 + 2048 * k);
        level.look = plot::Series::Look::level;
        for (const double x : {128.0, 256.0, 512.0}) {
          const double y = 2 + 3 * k + 0.001 * x, flat = 4 + gap * k;
          curve.samples.push_back({x, y, y, y});
          if (x != 256) level.samples.push_back({x, flat, flat, flat});
        }
        panel.series.push_back(curve);
        panel.series.push_back(level);
      }
      sheet.panels = {panel};
      const plot::Canvas canvas = plot::make_canvas(plot::Format::pdf, inches);
      const plot::Layout l = plot::lay_out(sheet, canvas);
      const auto& notes = l.panels.at(0).notes;
      std::string names;
      for (const auto& note : notes)
        names += note.text + "; ";
      BOOST_TEST(names == "line, n = 4096; line, n = 6144; line, n = 8192; ", "gap " << gap);
      const auto box = [&](const plot::Note& note) {
        return plot::box_around(note.at, canvas.wide(note.text), canvas.tall() - 0.5);
      };
      for (std::size_t i = 0; i < notes.size(); ++i) {
        BOOST_TEST(plot::inside(box(notes[i]), plot::Box{0, 0, l.width, l.height}));
        for (std::size_t j = 0; j < i; ++j)
          BOOST_TEST(!plot::overlap(box(notes[i]), box(notes[j])),
                     "gap " << gap << " at " << inches << " in");
      }
    }
}

/// Relative luminance of sRGB (IEC 61966-2-1), "#RRGGBB": what is left of a colour in greyscale.
double luminance(std::string_view colour) {
  const auto channel = [&](std::size_t at) {
    const double c = std::stoi(std::string(colour.substr(at, 2)), nullptr, 16) / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

BOOST_AUTO_TEST_CASE(colours_of_equal_grey_differ_in_their_markers) {
  const std::string style = plot::style_script().text();
  const std::regex line(R"(set linetype (\d+) lc rgb '(#[0-9A-F]{6})' pt (\d+))");
  struct Seen {
    int linetype, marker;
    double luminance;
  };
  std::vector<Seen> all;
  for (std::sregex_iterator it(style.begin(), style.end(), line), end; it != end; ++it)
    all.push_back({std::stoi((*it)[1]), std::stoi((*it)[3]), luminance(std::string((*it)[2]))});
  BOOST_TEST_REQUIRE(all.size() == 2U * static_cast<std::size_t>(plot::categories + plot::steps));
  for (const Seen& a : all) {
    // Against white paper, contrast 1.8 or more: lines and markers, not text (WCAG 2.1 asks 3 of graphics).
    BOOST_TEST(1.05 / (a.luminance + 0.05) >= 1.8, "linetype " << a.linetype);
    for (const Seen& b : all)
      if (a.linetype < b.linetype && a.linetype / 20 == b.linetype / 20)
        BOOST_TEST(a.marker != b.marker, a.linetype << " and " << b.linetype);
  }
}

BOOST_AUTO_TEST_CASE(extreme_data_stay_on_the_page) {
  const auto sweep = [](std::size_t curves, std::size_t points, auto y) {
    plot::Sheet sheet;
    plot::Panel panel;
    panel.title = "kernel stride, witness clock; by size";
    panel.x_title = "stride";
    panel.y_title = "time per access (ns)";
    panel.y_is_time = true;
    for (std::size_t c = 0; c < curves; ++c) {
      plot::Series series;
      series.label = series.compact = std::to_string(c + 1) + " KiB";
      for (std::size_t p = 0; p < points; ++p) {
        const double x = std::pow(2.0, static_cast<double>(p)), value = y(c, p);
        series.samples.push_back({x, value, value * 0.9, value * 1.1});
      }
      panel.series.push_back(series);
    }
    sheet.panels = {panel};
    sheet.caption = {"A CPU with a rather long name @ 2.50 GHz (virtual machine: KVM)",
                     "median of 5 repetitions",
                     "3 of 60 repetitions disturbed (more than 1 % of their time lost)"};
    return sheet;
  };
  const std::vector<plot::Sheet> sheets{
      sweep(1, 1, [](auto, auto) { return 3.0; }),
      sweep(1, 2, [](auto, auto p) { return 1.0 + static_cast<double>(p); }),
      sweep(12, 8, [](auto c, auto p) { return static_cast<double>(1 + c * p); }),
      sweep(4, 6, [](auto, auto) { return 5.0; }), sweep(3, 7, [](auto c, auto p) {
        return std::pow(10.0, static_cast<double>(p) - 3) * (1.0 + static_cast<double>(c));
      })};
  for (const auto& sheet : sheets)
    for (const double inches : {3.33, 7.0}) {
      const plot::Canvas canvas = plot::make_canvas(plot::Format::pdf, inches);
      const plot::Layout l = plot::lay_out(sheet, canvas);
      const plot::Box page{0, 0, l.width, l.height};
      BOOST_TEST(l.caption.size() == 1U);
      BOOST_TEST(canvas.wide(l.caption.front()) <= l.width);
      for (const auto& panel : l.panels) {
        BOOST_TEST(plot::inside(panel.plot, page));
        std::vector<plot::Box> texts;
        for (const auto& tic : panel.x.tics) {
          const double x = panel.plot.left + panel.x.place(tic.at) * panel.plot.width();
          if (!tic.text.empty())
            texts.push_back(
                plot::box_around({x, panel.plot.bottom - canvas.tall()}, canvas.wide(tic.text), 7));
        }
        if (panel.labelled)
          for (const auto& curve : panel.curves)
            if (!curve.label.empty()) texts.push_back(curve.place.box);
        for (std::size_t i = 0; i < texts.size(); ++i) {
          BOOST_TEST(plot::inside(texts[i], page));
          for (std::size_t j = 0; j < i; ++j)
            BOOST_TEST(!plot::overlap(texts[i], texts[j]));
        }
      }
    }
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_no_power_of_two_has_its_tic) {
  plot::Sheet sheet;
  plot::Panel panel;
  panel.y_halves = true;
  panel.y_tics = {12};
  plot::Series curve;
  for (const auto& [x, y] : {std::pair(512.0, 97.0), {1024.0, 48.0}, {4096.0, 12.0}, {65536.0, 11.0}})
    curve.samples.push_back({x, y, y, y});
  panel.series = {curve};
  sheet.panels = {panel};
  const plot::Canvas canvas = plot::make_canvas(plot::Format::pdf, 3.33);
  const plot::PanelLook look = plot::lay_out(sheet, canvas).panels.at(0);
  const auto tic = std::ranges::find(look.y.tics, "12", &plot::Tic::text);
  BOOST_TEST_REQUIRE((tic != look.y.tics.end()));
  for (const plot::Tic& other : look.y.tics)
    if (other.text != "12")
      BOOST_TEST(std::abs(look.y.place(other.at) - look.y.place(12)) * look.plot.height() >= canvas.tall());
}

BOOST_AUTO_TEST_CASE(panels_are_aligned) {
  plot::Sheet sheet;
  for (const double scale : {1.0, 1e6}) { // the second one has wider tics
    plot::Panel panel;
    panel.x_along = plot::Panel::Along::settings;
    panel.y_title = "time (ns)";
    plot::Series curve;
    for (const double x : {1.0, 2.0, 4.0})
      curve.samples.push_back({x, 1234 * scale * x, 1234 * scale * x, 1234 * scale * x});
    panel.series = {curve};
    if (scale > 1) panel.marks.push_back({2, "a mark"});
    sheet.panels.push_back(panel);
  }
  for (const double inches : {3.33, 7.0}) {
    const plot::Layout l = plot::lay_out(sheet, plot::make_canvas(plot::Format::pdf, inches));
    const plot::Box &a = l.panels.at(0).plot, &b = l.panels.at(1).plot;
    const bool stacked = inches < 4;
    const double beside = stacked ? 0 : l.width / 2;
    BOOST_TEST(b.left - beside == a.left, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(b.right - beside == a.right, boost::test_tools::tolerance(1e-9));
    if (!stacked) BOOST_TEST(b.top == a.top, boost::test_tools::tolerance(1e-9));
  }
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
