// Machines side by side: made-up results with one machine that differs.
#include "commands/caches/infer/findings.hpp"
#include "commands/cli/commands.hpp"
#include "commands/compare/compare.hpp"
#include "observed.hpp"
#include "unit/caches/model_sampler.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

using namespace recount;

BOOST_AUTO_TEST_SUITE(comparing)

namespace {

result::Results cluster(int nodes) {
  result::Results results;
  for (int node = 0; node < nodes; ++node) {
    result::Run run;
    run.id = fmt::format("R{}", node);
    run.host = fmt::format("n{}", node);
    run.cpu = "CPU";
    run.versions = {{"microcode", "0xf0"}, {"compiler", node % 2 == 0 ? "g++ 12" : "g++ 14"}};
    results.runs.push_back(run);
  }
  return results;
}

void add(result::Results& results, int node, std::int64_t size, int repetition, const char* witness,
         const char* metric, result::Number value) {
  results.observations.push_back(test::observed("stride", {{"size", size}, {"stride", std::int64_t{64}}},
                                                witness, metric, value, repetition));
  results.observations.back().run = fmt::format("R{}", node);
}

/// Times with a spread of 1 %; node 3 is slower by `slow` at every size.
result::Results timed(int nodes, double slow) {
  auto results = cluster(nodes);
  for (int node = 0; node < nodes; ++node)
    for (const std::int64_t size : {4096, 8192, 16384, 32768})
      for (int repetition = 0; repetition < 6; ++repetition)
        add(results, node, size, repetition, "clock", "seconds",
            static_cast<double>(size) * (1 + 0.002 * ((repetition * 7 + node * 3) % 5)) *
                (node == 3 ? slow : 1));
  return results;
}

const compare::Finding* finding(const compare::Comparison& c, const std::string& subject) {
  for (const auto& one : c.findings)
    if (one.subject == subject) return &one;
  return nullptr;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_slow_machine_is_named) {
  const auto c = compare::compare(timed(5, 1.8), {});
  BOOST_TEST(c.nodes.size() == 5U);
  BOOST_TEST(c.quantities.size() == 5U); // over all points, and each of four
  BOOST_REQUIRE(c.findings.size() == 1U);
  BOOST_TEST(c.nodes[c.findings[0].node] == "n3");
  BOOST_TEST(c.findings[0].subject == "clock seconds (stride)");
  BOOST_TEST(holds(c.findings[0].text, "median of 4 points: 1.8 times the median of 5 nodes"));
  BOOST_TEST(holds(c.findings[0].text, "and at 4 more points"));
}

BOOST_AUTO_TEST_CASE(equal_machines_have_no_outlier) {
  BOOST_TEST(compare::compare(timed(5, 1), {}).findings.empty());
  BOOST_TEST(compare::compare(timed(5, 1.01), {}).findings.empty());
}

BOOST_AUTO_TEST_CASE(no_machine_of_three_is_an_outlier) {
  auto results = cluster(3);
  results.runs[2].versions["microcode"] = "0xde";
  for (int node = 0; node < 3; ++node)
    add(results, node, 4096, 0, "clock", "seconds", node == 2 ? 9.0 : 1.0);
  const auto c = compare::compare(results, {});
  BOOST_TEST(c.findings.empty());
  BOOST_REQUIRE(c.quantities.size() == 1U);
  BOOST_TEST(!c.quantities[0].limit.has_value());
  BOOST_TEST(*c.quantities[0].nodes[2].ratio == 9);
  BOOST_TEST(c.differences.size() == 2U); // microcode and compiler
}

BOOST_AUTO_TEST_CASE(few_machines_are_compared_in_pairs) {
  auto results = cluster(2);
  for (int repetition = 0; repetition < 6; ++repetition) {
    const double noise = 1 + 0.01 * repetition;
    add(results, 0, 4096, repetition, "clock", "seconds", noise);
    add(results, 1, 4096, repetition, "clock", "seconds", 1.5 * noise);
    add(results, 0, 8192, repetition, "clock", "seconds", 2 * noise);
    add(results, 1, 8192, repetition, "clock", "seconds", 2.01 * noise);
  }
  const auto c = compare::compare(results, {});
  BOOST_TEST_REQUIRE(c.pairs.size() == 2U);
  BOOST_TEST(c.pairs[0].ratio == 1.5, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(
      (c.pairs[0].evidence == statistics::Evidence::clear && c.pairs[0].low < 1.5 && c.pairs[0].high > 1.5));
  BOOST_TEST((c.pairs[1].evidence != statistics::Evidence::clear)); // half a percent, of a spread of five
  const auto blocks = compare::comparison_blocks(c);
  const auto& list = std::get<document::List>(blocks.at(0)).items;
  BOOST_TEST_REQUIRE(list.size() == 2U);
  BOOST_TEST(list[0].starts_with("n1 takes 1.50 times as long as n0 (1."));
  BOOST_TEST(list[1] == "1 comparison shows no difference that 6 repetitions could tell from noise");
  BOOST_TEST(compare::compare(timed(4, 2), {}).pairs.empty());
  // There is no ratio to 0, but there is a difference.
  auto zero = cluster(2);
  for (int repetition = 0; repetition < 6; ++repetition) {
    add(zero, 0, 4096, repetition, "perf", "PAPI_BR_MSP", 0.0);
    add(zero, 1, 4096, repetition, "perf", "PAPI_BR_MSP", 500.0 + repetition);
    add(zero, 0, 4096, repetition, "perf", "PAPI_L1_DCM", 0.0);
    add(zero, 1, 4096, repetition, "perf", "PAPI_L1_DCM", 0.0);
  }
  const auto of_zero =
      std::get<document::List>(compare::comparison_blocks(compare::compare(zero, {})).at(0)).items;
  BOOST_TEST_REQUIRE(of_zero.size() == 1U);
  BOOST_TEST(of_zero[0].starts_with("n1 has 502.5, n0 has 0: perf PAPI_BR_MSP"), of_zero[0]);
  // Of samples, a difference within their error is none.
  auto sampled = cluster(2);
  for (const int node : {0, 1}) {
    add(sampled, node, 4096, 0, "model:i7-9700~sample", "PAPI_L1_DCM", 1000.0 + 100 * node);
    sampled.observations.back().flags.emplace_back(Flag::Kind::sampled, "sampled 1 %, error 60", 1.0, 60.0);
  }
  BOOST_TEST((compare::compare(sampled, {}).pairs.at(0).evidence != statistics::Evidence::clear));
  sampled.observations.back().value = 1200.0;
  BOOST_TEST((compare::compare(sampled, {}).pairs.at(0).evidence == statistics::Evidence::clear));
}

BOOST_AUTO_TEST_CASE(a_dead_preset_and_one_that_is_not_counted) {
  auto results = cluster(4);
  for (int node = 0; node < 4; ++node)
    for (int repetition = 0; repetition < 5; ++repetition) {
      add(results, node, 4096, repetition, "papi", "PAPI_L1_DCM", std::int64_t{node == 1 ? 0 : 64});
      add(results, node, 4096, repetition, "papi", "PAPI_TLB_DM",
          node == 2 ? result::Number{} : result::Number{std::int64_t{9}});
    }
  const auto c = compare::compare(results, {});
  BOOST_TEST(c.findings.size() == 2U);
  const auto* const dead = finding(c, "papi PAPI_L1_DCM (stride)");
  const auto* const absent = finding(c, "papi PAPI_TLB_DM (stride)");
  BOOST_REQUIRE(dead);
  BOOST_TEST(dead->node == 1U);
  BOOST_TEST(holds(dead->text, "counts 0, the median of 4 nodes is 64"));
  BOOST_REQUIRE(absent);
  BOOST_TEST(absent->node == 2U);
  BOOST_TEST(holds(absent->text, "not counted, but on 3 of 4 nodes: no such event"));
}

BOOST_AUTO_TEST_CASE(another_microcode_is_named) {
  auto results = timed(5, 1);
  results.runs[4].versions["microcode"] = "0xde";
  const auto c = compare::compare(results, {});
  BOOST_REQUIRE(c.findings.size() == 1U);
  BOOST_TEST(c.findings[0].node == 4U);
  BOOST_TEST(c.findings[0].subject == "microcode");
  BOOST_TEST(holds(c.findings[0].text, "0xde"));
}

BOOST_AUTO_TEST_CASE(a_machine_with_disturbed_repetitions) {
  auto results = timed(5, 1);
  for (auto& o : results.observations)
    if (o.run.get() == "R2") o.flags = {{Flag::Kind::preempted, "preempted 2 times (12 %)", 12.0}};
  const auto c = compare::compare(results, {});
  BOOST_REQUIRE(c.findings.size() == 1U);
  BOOST_TEST(c.findings[0].node == 2U);
  BOOST_TEST(c.findings[0].subject == "disturbed");
  BOOST_TEST(holds(c.findings[0].text, "100 % of the repetitions"));
}

BOOST_AUTO_TEST_CASE(by_compiler_there_are_two) {
  compare::CompareOptions options;
  options.by = {"compiler"};
  const auto c = compare::compare(timed(4, 1), options);
  BOOST_TEST(c.nodes == (std::vector<std::string>{"g++ 12", "g++ 14"}), boost::test_tools::per_element());
  BOOST_TEST(c.quantities.back().nodes[0].values.size() == 12U);
  options.by = {"host", "compiler"};
  BOOST_TEST(compare::compare(timed(4, 1), options).nodes.front() == "n0, g++ 12");
  options.by = {"commit"};
  BOOST_CHECK_THROW(static_cast<void>(compare::compare(timed(4, 1), options)), Error);
}

BOOST_AUTO_TEST_CASE(points_of_one_machine_only_are_counted_apart) {
  auto results = timed(2, 1);
  add(results, 0, 65536, 0, "clock", "seconds", 1.0);
  BOOST_TEST(compare::compare(results, {}).on_one_node == 1U);
}

// One of five nodes has the caches of another machine; the readings call it the same.
BOOST_AUTO_TEST_CASE(another_inferred_cache_is_named) {
  auto results = cluster(5);
  for (int node = 0; node < 5; ++node) {
    auto& run = results.runs[static_cast<std::size_t>(node)];
    record_model(results, run, node == 3 ? "i5-1035g1" : "i7-9700");
  }
  const auto c = compare::compare(results, {.inferred = cli::inferred_caches});
  const auto* const size = finding(c, "papi L1d capacity (caches)");
  BOOST_REQUIRE(size);
  BOOST_TEST(size->node == 3U);
  BOOST_TEST(holds(size->text, "1.5 times the median of 5 nodes")); // 48 KiB and 32 KiB
  const auto* const ways = finding(c, "papi L2 ways (caches)");
  BOOST_REQUIRE(ways);
  BOOST_TEST(holds(ways->text, "unknown, but on 4 of 5 nodes"));
  BOOST_TEST(!finding(c, "papi L1d line (caches)"));
}

BOOST_AUTO_TEST_CASE(the_figure_has_a_dot_per_machine) {
  const auto results = timed(5, 1.8);
  const auto sheet = compare::compose_nodes(compare::compare(results, {}), results);
  BOOST_REQUIRE(sheet.panels.size() == 1U);
  BOOST_REQUIRE(sheet.panels[0].series.size() == 2U); // the others, the outlier
  BOOST_TEST(sheet.panels[0].series[0].samples.size() == 4U);
  BOOST_REQUIRE(sheet.panels[0].series[1].samples.size() == 1U);
  BOOST_TEST(sheet.panels[0].series[1].samples[0].x == 4);
  BOOST_TEST(std::abs(sheet.panels[0].series[1].samples[0].y - 1.8) < 0.02);
}

BOOST_AUTO_TEST_SUITE_END()
