// The figures of recount watch and recount profile.
#include "commands/profile/profile_report.hpp"
#include "commands/watch/watch_view.hpp"
#include "observed.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace recount;

using boost::test_tools::tolerance;

BOOST_AUTO_TEST_SUITE(programs)

namespace {
result::Results with_run() {
  result::Results results;
  results.runs.emplace_back().id = "R";
  results.runs[0].cpu = "Some CPU";
  return results;
}

void add_interval(result::Results& results, std::int64_t number, const std::string& metric,
                  std::optional<double> value, const std::string& unit) {
  auto o =
      test::observed("command", {{"command", "./x"}, {"interval", number}, {"begin_us", number * 500'000}},
                     "perf", metric, value ? result::Number(*value) : result::Number());
  o.unit = unit;
  o.seconds = 0.5;
  results.observations.push_back(o);
}

void add_section(result::Results& results, const std::string& edge, const std::string& name, double time) {
  result::Section s;
  s.run = "R";
  s.kernel = "command";
  s.edge = edge;
  s.name = name;
  s.time = time;
  results.sections.push_back(s);
}

void add_place(result::Results& results, const std::string& event, std::int64_t value,
               std::optional<std::int64_t> address = {}, std::int64_t start = 0, std::int64_t end = 0,
               const std::string& function = "f(int)") {
  auto o = test::observed("profile", {{"command", "./x"}}, "perf", event, value);
  if (address) {
    o.params["module"] = std::string("x");
    o.params["address"] = *address;
    o.params["function"] = function;
    o.params["start"] = start;
    o.params["end"] = end;
  }
  results.observations.push_back(o);
}

/// The sum of all bins, each of which is a step of two samples.
double area(const plot::Panel& panel) {
  double sum = 0;
  for (std::size_t i = 0; i < panel.series[0].samples.size(); i += 2)
    sum += panel.series[0].samples[i].y;
  return sum;
}
} // namespace

BOOST_AUTO_TEST_CASE(counts_become_rates_and_metrics_stay) {
  auto results = with_run();
  for (std::int64_t i = 0; i < 3; ++i) {
    add_interval(results, i, "faults", 10.0 * static_cast<double>(i), "");
    add_interval(results, i, "clock", 250e6, "ns");
    add_interval(results, i, "rate", i == 1 ? std::nullopt : std::optional(4e6), "bytes/s");
    add_interval(results, i, "ipc", {}, "instructions/cycle");
  }
  const plot::Sheet sheet = watch::compose_over_time(results, {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 3U);
  const auto& faults = sheet.panels[0].series[0].samples;
  BOOST_TEST_REQUIRE(faults.size() == 6U); // steps
  BOOST_TEST(faults[5].x == 1.5);
  BOOST_TEST(faults[5].y == 40.0);
  BOOST_TEST(sheet.panels[0].y_title == "/s");
  BOOST_TEST(sheet.panels[1].series[0].samples[0].y == 0.5, tolerance(1e-12));
  BOOST_TEST(sheet.panels[2].y_title == "million bytes/s");
  BOOST_TEST(sheet.panels[2].series[0].samples[0].y == 4.0, tolerance(1e-12));
  BOOST_TEST(std::isnan(sheet.panels[2].series[0].samples[2].y)); // a gap, not 0
  BOOST_TEST(sheet.warnings.size() == 1U);
  BOOST_TEST(sheet.warnings[0].find("not counted, not drawn: ipc (no such event here)") != std::string::npos);
  BOOST_TEST(std::ranges::count(sheet.caption, "./x") == 1);
  results.observations[0].params["command"] = std::int64_t{5}; // as a file may say
  BOOST_TEST(watch::compose_over_time(results, {}).panels.size() == 3U);
}

BOOST_AUTO_TEST_CASE(outermost_sections_are_shaded) {
  auto results = with_run();
  add_interval(results, 0, "faults", 1.0, "");
  add_section(results, "begin", "a", 0.1);
  add_section(results, "begin", "b", 0.15);
  add_section(results, "end", "b", 0.2);
  add_section(results, "mark", "m", 0.25);
  add_section(results, "end", "a", 0.3);
  add_section(results, "end", "never begun", 0.35);
  add_section(results, "begin", "c", 0.4);
  const plot::Sheet sheet = watch::compose_over_time(results, {});
  const auto& spans = sheet.panels[0].spans;
  BOOST_TEST_REQUIRE(spans.size() == 2U);
  BOOST_TEST(spans[0].begin == 0.1);
  BOOST_TEST(spans[0].end == 0.3);
  BOOST_TEST(spans[1].label == "c");
  BOOST_TEST(spans[1].end == 0.5); // it never ended
  BOOST_TEST(spans[0].dark != spans[1].dark);
  BOOST_TEST(sheet.panels[0].marks.size() == 1U);
}

BOOST_AUTO_TEST_CASE(functions_side_by_side_add_up_to_their_share) {
  auto results = with_run();
  add_place(results, "clock", 1000);
  add_place(results, "faults", 50);
  for (std::int64_t address = 0x1000; address < 0x1100; address += 16)
    add_place(results, "clock", 50, address, 0x1000, 0x1100, "hot(int)");
  add_place(results, "clock", 150, 0x9010, 0x9000, 0x9020, "cold(int)");
  add_place(results, "clock", 2, 0x5000, 0x5000, 0x5020, "colder(int)"); // too few
  add_place(results, "faults", 50, 0x9000, 0x9000, 0x9020, "cold(int)");
  add_place(results, "clock", 48, 0x7000, 0x7000, 0x7020, "in_the_kernel"); // of the 1000, not more of them
  results.observations.back().params =
      result::Params{{"command", std::string("x")}, {"address", std::string("0xffffffff81752a2a")}};
  const plot::Sheet sheet = profile::compose_over_addresses(results, {});
  BOOST_TEST_REQUIRE(sheet.panels.size() == 2U);
  BOOST_TEST_REQUIRE(sheet.panels[0].spans.size() == 2U);
  const auto& hot = sheet.panels[0].spans[0];
  BOOST_TEST(hot.begin == 0.0);
  BOOST_TEST(hot.end == sheet.panels[0].spans[1].begin);
  BOOST_TEST(sheet.panels[0].spans[1].end == 1.0);
  BOOST_TEST(hot.end > 0.8); // 256 of 288 bytes
  BOOST_TEST(area(sheet.panels[0]) == 95.0, tolerance(1e-9));
  BOOST_TEST(area(sheet.panels[1]) == 100.0, tolerance(1e-9));
  const auto has = [&](const std::string& piece) {
    return std::ranges::find(sheet.caption, piece) != sheet.caption.end();
  };
  BOOST_TEST(has("1 hot: 80 %, 0.0 %"));
  BOOST_TEST(has("2 cold: 15 %, 100 %"));
  BOOST_TEST(has("other addresses: 5.0 %, 0.0 %"));
  for (auto& o : results.observations)
    o.witness = "model:i7-9700";
  BOOST_TEST(profile::compose_over_addresses(results, {}).panels[0].title == "clock (witness model:i7-9700)");
}

BOOST_AUTO_TEST_CASE(figure_uses_the_grouping_of_the_tables) {
  auto results = with_run();
  add_place(results, "clock", 100);
  add_place(results, "clock", 40, 0x1000, 0x1000, 0x1100, "outer(int)");
  add_place(results, "clock", 60, 0x1010, 0x1000, 0x1100, "outer(int)");
  results.observations.back().params["inlined"] = std::string("inner(long)");
  results.observations.back().params["source"] = std::string("x.cpp:7");
  const auto captions = [&](const char* by) {
    results.runs[0].plan["by"] = by;
    const plot::Sheet sheet = profile::compose_over_addresses(results, {});
    std::string text;
    for (const auto& line : sheet.caption)
      text += line + "\n";
    return text;
  };
  BOOST_TEST(captions("symbol").find("1 outer: 100 %\n") != std::string::npos);
  BOOST_TEST(captions("function").find("1 outer: 40 %\n2 inner: 60 %\n") != std::string::npos);
  BOOST_TEST(captions("line").find("2 x.cpp:7: 60 %\n") != std::string::npos);
  BOOST_TEST(captions("module").find("1 x: 100 %\n") != std::string::npos);
  results.runs[0].plan.clear(); // made before this was recorded
  BOOST_TEST(profile::compose_over_addresses(results, {}).panels[0].spans.size() == 1U);
}

BOOST_AUTO_TEST_CASE(invalid_bounds_are_ignored) {
  auto results = with_run();
  add_place(results, "clock", 100);
  add_place(results, "clock", 60, 0x3000, 0x3000, 0x3100);
  add_place(results, "clock", 10, 0x2000, 0x1000, 0x1100); // outside of its function
  add_place(results, "clock", 10, 0x1000, 0x1100, 0x1000);
  add_place(results, "clock", 10, -5, -10, 0, "f");
  add_place(results, "clock", 10, 0, INT64_MIN, INT64_MAX, "g");
  const plot::Sheet sheet = profile::compose_over_addresses(results, {});
  BOOST_TEST(sheet.panels[0].series[0].samples.size() < 1000U);
  BOOST_CHECK_THROW(static_cast<void>(profile::compose_over_addresses(with_run(), {})), Error);
  BOOST_CHECK_THROW(static_cast<void>(watch::compose_over_time(with_run(), {})), Error);
}

BOOST_AUTO_TEST_SUITE_END()
