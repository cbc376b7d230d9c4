// Matrix products in results: which they are, what follows from their counts, odd repetitions.
#include "commands/matmul/matmul_tables.hpp"
#include "observed.hpp"

#include <boost/test/unit_test.hpp>

#include <recount/error.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(products_of_matrices)

namespace {

result::Params point(const std::string& variant, std::int64_t n, std::int64_t block = 128) {
  return {{"variant", variant},
          {"n", n},
          {"block", block},
          {"element", std::string("f64")},
          {"transpose", std::string("included")}};
}

result::Observation seen(const result::Params& params, const std::string& witness, const std::string& metric,
                         double value, int repetition = 0, const std::string& kernel = "matmul") {
  return test::observed(kernel, params, witness, metric, value, repetition);
}

result::Results results_of(std::vector<result::Observation> observations) {
  result::Results results;
  result::Run run;
  run.id = "R";
  run.cpu = "C";
  run.host = "h";
  run.caches = {{"L1d", 32768, 128, 8}};
  results.runs.push_back(run);
  results.observations = std::move(observations);
  return results;
}

/// What stands under the tables of a page.
std::string notes_of(void (*add)(matmul::Page&, const matmul::ProductGroup&),
                     const matmul::ProductGroup& group) {
  matmul::Page page;
  add(page, group);
  const auto notes = page.notes();
  return notes.empty() ? "" : std::get<document::Paragraph>(notes.front()).text;
}

} // namespace

BOOST_AUTO_TEST_CASE(products_are_known_by_kernel_and_point) {
  BOOST_TEST(matmul::loops_name(*matmul::parse_product("matmul", point("ijk", 600))) == "simple");
  BOOST_TEST(matmul::loops_name(*matmul::parse_product("matmul", point("blocked", 600))) == "block 128");
  BOOST_TEST(matmul::parse_product("matmul", point("blocked", 100))->block ==
             100); // a larger block is the matrix
  BOOST_TEST(matmul::loops_name(*matmul::parse_product("matmul", point("transposed", 600))) ==
             "transposed, with copy");
  BOOST_TEST(matmul::loops_name(*matmul::parse_product("matmul-vectorised", point("ikj", 600))) ==
             "line, vectorised");
  BOOST_TEST(matmul::loops_name(*matmul::parse_product("external", {{"variant", std::string("ikj")},
                                                                    {"language", std::string("Java")},
                                                                    {"n", std::int64_t{600}}})) ==
             "line, Java");
  BOOST_TEST((*matmul::parse_product("matmul", point("ijk", 600, 64)) ==
              *matmul::parse_product("matmul", point("ijk", 600, 128))));
  BOOST_TEST(!matmul::parse_product("stride", {{"n", std::int64_t{3}}}));
  BOOST_TEST(!matmul::parse_product("matmul", {{"n", std::string("x")}}));
  BOOST_TEST(matmul::parse_product("dgemm", {{"n", std::int64_t{100}}})->operations() == 2e6);
}

BOOST_AUTO_TEST_CASE(counted_values_come_before_modelled_ones) {
  const auto results = results_of({seen(point("ijk", 600), "model", "PAPI_L1_DCM", 1),
                                   seen(point("ijk", 600), "papi", "PAPI_L1_DCM", 2),
                                   seen(point("ijk", 600), "perf", "PAPI_L1_DCM", 3),
                                   seen(point("ijk", 600), "model:host~no-tlb", "PAPI_L2_DCM", 4)});
  const auto groups = matmul::group_products(results);
  BOOST_REQUIRE(groups.size() == 1U);
  const matmul::Product product = groups[0].products.begin()->first;
  BOOST_TEST(groups[0].quantity(product, "PAPI_L1_DCM")->witness == "perf");
  BOOST_TEST(groups[0].quantity(product, "PAPI_L1_DCM", "model")->value == 1);
  BOOST_TEST(!groups[0].quantity(product, "PAPI_L2_DCM")); // a model without a part is for comparison only
}

BOOST_AUTO_TEST_CASE(machine_without_a_part_counts_where_the_whole_was_not_requested) {
  const auto ijk = point("ijk", 600), ikj = point("ikj", 600);
  const matmul::Product a = *matmul::parse_product("matmul", ijk), b = *matmul::parse_product("matmul", ikj);
  const std::string bare = "model:i7-9700~no-tlb";
  std::vector<result::Observation> all;
  for (const auto& params : {ijk, ikj}) {
    all.push_back(seen(params, bare, "PAPI_L1_DCM", 4));
    all.push_back(seen(params, bare, "PAPI_LST_INS", 40));
  }
  const auto group = [&] { return matmul::group_products(results_of(all)).at(0); };
  BOOST_TEST(group().quantity(b, "PAPI_L1_DCM")->value == 4);
  BOOST_TEST(matmul::quantity(group(), b, "L1_HIT_RATE")->witness == bare);
  // The whole machine's run of one product is missing: no other takes its place.
  all.push_back(seen(ijk, "model:i7-9700", "PAPI_L1_DCM", 5));
  BOOST_TEST(group().quantity(a, "PAPI_L1_DCM")->value == 5);
  BOOST_TEST(!group().quantity(b, "PAPI_L1_DCM"));
  BOOST_TEST(!matmul::quantity(group(), b, "L1_HIT_RATE"));
  BOOST_TEST(group().quantity(b, "PAPI_L1_DCM", bare)->value == 4); // by name
  // This machine has two names, "model" and "model:host"; other machines do not count.
  all.push_back(seen(ikj, "model:host~full", "PAPI_L2_DCM", 8));
  BOOST_TEST(group().quantity(b, "PAPI_L2_DCM")->value == 8);
  all.push_back(seen(ijk, "model", "PAPI_L1_DCM", 9));
  BOOST_TEST(!group().quantity(b, "PAPI_L2_DCM"));
}

BOOST_AUTO_TEST_CASE(derived_metrics_take_all_parts_from_one_witness) {
  const auto simple = point("ijk", 100), line = point("ikj", 100);
  const auto results =
      results_of({seen(simple, "perf", "PAPI_L1_DCM", 25), seen(simple, "model", "PAPI_L1_DCM", 10),
                  seen(simple, "model", "PAPI_LD_INS", 70), seen(simple, "model", "PAPI_SR_INS", 30),
                  seen(simple, "model", "PAPI_L2_DCA", 10), seen(simple, "model", "PAPI_L2_DCM", 4),
                  seen(simple, "clock", "seconds", 2), seen(simple, "clock", "tsc_cycles", 600),
                  seen(line, "model", "PAPI_L1_DCM", 30), seen(line, "model", "PAPI_LST_INS", 100),
                  seen(line, "model", "PAPI_L2_DCA", 30), seen(line, "model", "PAPI_L2_DCH", 27),
                  seen(line, "clock", "seconds", 0.5), seen(line, "clock", "tsc_cycles", 200)});
  const auto groups = matmul::group_products(results);
  const matmul::ProductGroup& group = groups.at(0);
  const matmul::Product a = *matmul::parse_product("matmul", simple),
                        b = *matmul::parse_product("matmul", line);
  const auto rate = matmul::quantity(group, a, "L1_HIT_RATE");
  BOOST_REQUIRE(rate.has_value());
  BOOST_TEST(rate->witness == "model"); // perf counted the misses, but not what they are a share of
  BOOST_TEST(rate->value == 0.9);
  BOOST_TEST(matmul::quantity(group, a, "L2_HIT_RATE")->value == 0.6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(matmul::quantity(group, b, "L2_HIT_RATE")->value == 0.9, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(matmul::quantity(group, a, "GFLOPS")->value == 1e-3, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(matmul::quantity(group, a, "INTENSITY")->value == 2e6 / (4 * 128),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(!matmul::quantity(group, a, "IPC"));
  const auto compared = [&](const char* metric) { return matmul::comparison(group, b, a, metric); };
  BOOST_TEST(compared("seconds").value() == 4);
  BOOST_TEST(compared("seconds").text() == "4.0 x ?"); // of single repetitions
  BOOST_TEST(compared("seconds").words() == "about 4.0 x (not established)");
  BOOST_TEST(compared("PAPI_TOT_CYC").text() == "-"); // PAPI counted none
  BOOST_TEST(compared("L1_HIT_RATE").value() == -0.2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(compared("L2_HIT_RATE").value() == 0.3, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(!matmul::comparison(group, a, a.at_size(7), "seconds").known());
}

BOOST_AUTO_TEST_CASE(overlapping_speed_ups_are_undecided_unless_equal) {
  const auto count = [](double times, double noise, int repetitions) {
    std::vector<result::Observation> all;
    for (int i = 0; i < repetitions; ++i) {
      const double shift = 1 + noise * ((i * 2) % 5 - 2);
      all.push_back(seen(point("ijk", 600), "clock", "seconds", shift, i));
      all.push_back(seen(point("ikj", 600), "clock", "seconds", times * shift, i));
    }
    const auto results = results_of(std::move(all));
    return matmul::undecided(matmul::group_products(results)).size();
  };
  BOOST_TEST(count(0.5, 0.05, 5) == 0U); // clear
  BOOST_TEST(count(0.97, 0.05, 5) == 1U);
  BOOST_TEST(count(1, 0.001, 5) == 0U);  // equal
  BOOST_TEST(count(0.5, 0.05, 2) == 1U); // too few
}

// PAPI_L2_DCM of Skylake contains page walks, PAPI_L2_DCA does not; PAPI_L1_DCM does.
BOOST_AUTO_TEST_CASE(hit_rates_take_hits_and_accesses_from_one_population) {
  const auto rate = [](double l2_misses, double l1_misses) {
    const auto line = point("ikj", 100);
    const auto results =
        results_of({seen(line, "papi", "PAPI_L2_DCM", l2_misses), seen(line, "papi", "PAPI_L2_DCA", 1000),
                    seen(line, "papi", "PAPI_L1_DCM", l1_misses)});
    const auto groups = matmul::group_products(results);
    return matmul::fact(groups.at(0), *matmul::parse_product("matmul", line), "L2_HIT_RATE");
  };
  BOOST_TEST(rate(1002, 1004).text() == "0.20 %");
  BOOST_TEST(rate(1002, 800).text() == "no rate");
  BOOST_TEST(rate(1002, 800).reason.find("different accesses") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(facts_that_disagree_name_their_place) {
  const auto simple = point("ijk", 100), line = point("ikj", 100);
  const auto results =
      results_of({seen(simple, "model", "PAPI_L1_DCM", 10), seen(simple, "model", "PAPI_LST_INS", 100),
                  seen(simple, "clock", "seconds", 2), seen(line, "clock", "seconds", 0.5)});
  const auto groups = matmul::group_products(results);
  const matmul::Product a = *matmul::parse_product("matmul", simple),
                        b = *matmul::parse_product("matmul", line);
  std::vector<matmul::Shown> all;
  for (const char* metric : {"PAPI_L1_DCM", "LST", "L1_HIT_RATE", "seconds"})
    all.push_back({"table", matmul::fact(groups.at(0), a, metric)});
  all.push_back({"table", matmul::fact(groups.at(0), b, "seconds")});
  all.push_back({"speed-ups", matmul::comparison(groups.at(0), b, a, "seconds")});
  BOOST_CHECK_NO_THROW(matmul::check_facts(all));
  const auto broken = [&](std::size_t index, double value, const std::string& text) {
    auto changed = all;
    matmul::Quantity& quantity = *changed.at(index).fact.quantity;
    quantity.value = quantity.low = quantity.high = value;
    BOOST_CHECK_EXCEPTION(matmul::check_facts(changed), Error, [&](const Error& error) {
      BOOST_TEST_CONTEXT(error.what())
      BOOST_TEST(std::string(error.what()).find(text) != std::string::npos);
      return true;
    });
  };
  broken(2, 1.1, "table: L1_HIT_RATE of simple, n = 100: 1.1 is outside 0 to 1");
  broken(2, 0.8, "0.8 and 10 misses are not 100 accesses");
  broken(5, 5, "speed-ups: speed-up by time of line, n = 100: 5 does not follow from 0.5 and 2");
  all.push_back(all.at(4));
  broken(6, 0.6, "0.6 has another value elsewhere");
  all.at(4).fact.quantity->low = 1;
  BOOST_CHECK_THROW(matmul::check_facts(all), Error); // an interval without its value
}

BOOST_AUTO_TEST_CASE(ceilings_are_the_best_of_their_repetitions) {
  auto read = seen({{"size", std::int64_t{16384}}, {"passes", std::int64_t{2}}}, "clock", "seconds", 4e-6, 0,
                   "bandwidth");
  read.accesses = 4096;
  auto again = read;
  again.value = 2e-6;
  auto far = read;
  far.params["size"] = std::int64_t{1} << 30;
  const result::Params peak = {{"width", std::string("vector")}, {"turns", std::int64_t{1}}};
  const auto results = results_of({read, again, far, seen(peak, "clock", "seconds", 0.5, 0, "peak"),
                                   seen(peak, "model", "PAPI_DP_OPS", 1e9, 0, "peak")});
  const auto groups = matmul::group_products(results);
  std::map<std::string, double> rates;
  for (const auto& ceiling : groups.at(0).ceilings)
    rates[ceiling.name] = ceiling.rate;
  BOOST_TEST(rates["L1d"] == 8 * 4096 / 2e-6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rates["memory"] == 8 * 4096 / 4e-6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rates["vector"] == 2e9, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_failure_belongs_to_the_machine_it_happened_on) {
  auto results = results_of({});
  results.runs.push_back(results.runs[0]);
  results.runs[0].id = "a run whose name is too long for a short string";
  results.runs[1].id = "another run whose name is too long for one";
  results.runs[1].host = "other";
  for (const std::int64_t n : {600, 1000, 1800})
    for (const auto& run : results.runs)
      results.failures.push_back({run.id, "matmul", point("ijk", n), 0, "clock", "killed on " + run.host});
  const auto groups = matmul::group_products(results);
  BOOST_REQUIRE(groups.size() == 2U);
  for (const auto& group : groups) {
    BOOST_TEST(group.failed.size() == 3U);
    for (const auto& [product, reason] : group.failed)
      BOOST_TEST(reason == "killed on " + group.run->host);
  }
}

BOOST_AUTO_TEST_CASE(repetitions_of_two_studies_are_not_paired) {
  result::Results results;
  for (const char* id : {"R0", "R1", "R2"}) {
    result::Run run;
    run.id = id;
    run.cpu = "Some CPU";
    run.host = "box";
    results.runs.push_back(run);
  }
  const auto add = [&](const char* run, int repetition, const char* metric, double value) {
    results.observations.push_back(seen(point("ijk", 100), "clock", metric, value, repetition));
    results.observations.back().run = run;
  };
  add("R0", 0, "seconds", 1);
  add("R0", 1, "seconds", 2);
  add("R1", 0, "seconds", 4);
  add("R2", 1, "seconds", 8); // R1, resumed
  const auto groups = matmul::group_products(results);
  BOOST_TEST_REQUIRE(groups.size() == 1U);
  const auto& [product, metrics] = *groups[0].products.begin();
  BOOST_TEST(metrics.at({"clock", "seconds"}).values.size() == 4U);
  const auto rate = matmul::quantity(groups[0], product, "GFLOPS");
  BOOST_TEST_REQUIRE(rate.has_value());
  BOOST_TEST(rate->values.size() == 4U);                                       // not 2
  BOOST_TEST(rate->value == 2e6 / 3 / 1e9, boost::test_tools::tolerance(0.3)); // of 4 values, as the time's
}

BOOST_AUTO_TEST_CASE(tables_count_disturbed_repetitions) {
  const auto notes = [](const std::vector<double>& stolen) {
    std::vector<result::Observation> all;
    for (std::size_t i = 0; i < stolen.size(); ++i) {
      all.push_back(seen(point("ijk", 600), "clock", "seconds", 1, static_cast<int>(i)));
      if (stolen[i] > 0) all.back().flags.emplace_back(Flag::Kind::steal, "stolen", stolen[i]);
    }
    const auto groups = matmul::group_products(results_of(all));
    return notes_of(matmul::add_doubles, groups.at(0));
  };
  BOOST_TEST(notes({0, 5, 0.5}) == "1 of 3 repetitions disturbed (more than 1 % of their time lost).");
  BOOST_TEST(notes({0, 0, 0}).empty());
}

BOOST_AUTO_TEST_CASE(a_disturbed_repetition_counts_once_whatever_was_measured_in_it) {
  std::vector<result::Observation> all;
  for (const char* const variant : {"ijk-mem", "blocked"})
    for (int i = 0; i < 3; ++i)
      for (const char* const metric : {"seconds", "tsc_cycles"}) {
        all.push_back(seen(point(variant, 1024, 32), "clock", metric, 2, i));
        all.back().params["element"] = std::string("i16");
        all.back().flags.emplace_back(Flag::Kind::steal, "stolen", 50.0);
      }
  const auto results = results_of(all);
  BOOST_TEST(notes_of(matmul::add_laboratory, matmul::group_products(results).at(0))
                 .find("6 of 6 repetitions disturbed (more than 1 % of their time lost).") !=
             std::string::npos);
  const auto sheet = matmul::compose_products("matmul-lab", results, {}); // the speed-up has both
  BOOST_TEST(sheet.caption.at(0) == "6 of 6 repetitions disturbed (more than 1 % of their time lost)");
  BOOST_TEST(std::ranges::count(sheet.caption, "median of 3 repetitions") == 1);
}

BOOST_AUTO_TEST_CASE(samples_and_the_whole_of_one_model_are_compared) {
  const auto simple = point("ijk", 600), line = point("ikj", 600);
  std::vector<result::Observation> all;
  for (const auto& [params, witness, misses] :
       {std::tuple(simple, "model:host~sample", 30.0), std::tuple(line, "model", 10.0)}) {
    all.push_back(seen(params, witness, "PAPI_L1_DCM", misses));
    all.push_back(seen(params, witness, "PAPI_LST_INS", 100));
  }
  all.push_back(seen(simple, "model:i7-9700", "PAPI_L1_DCM", 5)); // another machine
  all.push_back(seen(simple, "model:i7-9700", "PAPI_LST_INS", 100));
  const auto groups = matmul::group_products(results_of(all));
  const auto gain = matmul::comparison(groups.at(0), *matmul::parse_product("matmul", line),
                                       *matmul::parse_product("matmul", simple), "L1_HIT_RATE");
  BOOST_TEST_REQUIRE(gain.known());
  BOOST_TEST(gain.value() == 0.2, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(products_without_any_value_keep_their_row) {
  auto missing = seen(point("blocked", 600, 512), "model", "PAPI_L1_DCM", 0);
  missing.value = std::monostate{};
  missing.reason = "the samples do not determine it";
  const auto results = results_of({seen(point("blocked", 600, 64), "model", "PAPI_L1_DCM", 9), missing});
  matmul::Page page;
  matmul::add_doubles(page, matmul::group_products(results).at(0));
  const auto& rows = std::get<show::Table>(page.blocks.at(1)).rows;
  BOOST_TEST_REQUIRE(rows.size() == 2U);
  BOOST_TEST(rows[1].at(1).text == "512");
  BOOST_TEST(rows[1].at(2).text == "not determined");
}

BOOST_AUTO_TEST_CASE(disturbed_times_have_speed_ups_by_cpu_time) {
  const auto speed_ups = [](double stolen) {
    std::vector<result::Observation> all;
    for (const auto& [variant, cpu] : {std::pair("ijk", 2.0), std::pair("ikj", 1.0)})
      for (int i = 0; i < 8; ++i) {
        const double noise = 1 + 0.001 * i;
        all.push_back(seen(point(variant, 600), "clock", "cpu_seconds", cpu * noise, i));
        all.push_back(
            seen(point(variant, 600), "clock", "seconds", (variant[1] == 'k' ? 4 : 1) * cpu * noise, i));
        if (stolen > 0) all.back().flags.emplace_back(Flag::Kind::steal, "stolen", stolen);
      }
    const auto groups = matmul::group_products(results_of(all));
    matmul::Page page;
    matmul::add_doubles(page, groups.at(0));
    for (const auto& block : page.blocks)
      if (const auto* table = std::get_if<show::Table>(&block);
          table && table->caption.starts_with("Products of doubles"))
        return table->columns.at(4).head + ": " + table->rows.at(1).at(4).text;
    return std::string();
  };
  BOOST_TEST(speed_ups(0) == "speed-up by time: 0.50 x");
  BOOST_TEST(speed_ups(5) == "speed-up by CPU time: 2.0 x"); // elapsed: 4 times 1 s, which others delayed
}

BOOST_AUTO_TEST_CASE(modelled_ranges_that_overlap_are_no_difference) {
  const auto modelled = [](double low, double value, double high) {
    return matmul::Quantity{value, "model:i7-9700~placement=any~sample", low, high};
  };
  const matmul::Quantity a = modelled(9, 10, 12), b = modelled(11, 13, 14), c = modelled(13, 15, 16);
  BOOST_TEST((matmul::evidence(a, b) == statistics::Evidence::overlap));
  BOOST_TEST((matmul::evidence(a, c) == statistics::Evidence::clear));
  BOOST_TEST((matmul::evidence(modelled(10, 10, 10), modelled(10, 10, 10)) == statistics::Evidence::clear));
  matmul::Quantity difference = modelled(-1, 3, 5);
  difference.evidence = statistics::Evidence::overlap;
  BOOST_TEST(matmul::reservation(difference) == "the predicted ranges overlap");
}

BOOST_AUTO_TEST_SUITE_END()
