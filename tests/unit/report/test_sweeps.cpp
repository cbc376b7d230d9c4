// The report of a sweep over sizes and strides: the tables, values and sentences that a laboratory asks for.
#include "commands/caches/view/caches_sections.hpp"
#include "commands/cli/commands.hpp"
#include "commands/report/build_report.hpp"
#include "random_files.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>

using namespace recount;

BOOST_AUTO_TEST_SUITE(sweeps_in_a_report)

namespace {

/// Lines of 64 bytes in 8 ways of 32 KiB, walked with a stride: worked out by hand, not by the model.
double misses_by_hand(std::int64_t size, std::int64_t stride) {
  if (size <= 32768 || size / stride <= 8) return 0;
  return stride >= 64 ? 1 : static_cast<double>(stride) / 64;
}

result::Results walk(bool counted) {
  result::Results results = recount::test::stride_run();
  results.runs.front().skipped = {{"perf", "no PMU"}};
  for (std::int64_t size = 8192; size <= 1 << 19; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2) {
      const double misses = 1e6 * misses_by_hand(size, stride);
      const auto add = [&, size, stride](const char* witness, const char* metric, double value) {
        results.observations.push_back(test::walk_at(size, stride, witness, metric, value));
      };
      add(counted ? "perf" : "model", "PAPI_L1_DCM", misses);
      add("clock", "seconds", 1e-3 + 4e-9 * misses);
    }
  return results;
}

std::string formula_text(const result::Results& results) {
  const report::Tables tables{cli::figures(), cli::sections()};
  const auto report = report::build_report(results, {{"walk.jsonl"}, "1", {}}, tables);
  std::string text = document::to_markdown(report.document);
  for (const show::Table& table : report.files)
    text += table.file + ".csv\n" + show::csv_text(table);
  return text;
}

bool has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("missing: " << part << "\n" << text);
  return false;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

} // namespace

BOOST_AUTO_TEST_CASE(tables_have_strides_down_and_sizes_across) {
  const std::string text = formula_text(walk(true));
  BOOST_TEST(has(text, "Mean access time in ns: kernel stride, by the clock, median of the repetitions"));
  BOOST_TEST(has(text, "| 16 B | 1.00 | 1.00 | 1.00 | 2.00 | 2.00 | 2.00 | 2.00 |"));
  BOOST_TEST(has(text, "| 16 B | 0.000 | 0.000 | 0.000 | 0.250 | 0.250 | 0.250 | 0.250 |"));
  BOOST_TEST(has(text, "| 32 KiB | - | - | - | 0.000 | 0.000 | 0.000 | 1.000 |"));
}

BOOST_AUTO_TEST_CASE(size_line_and_ways_are_read_from_misses_and_stand_first) {
  const std::string text = formula_text(walk(true));
  const std::string values = "capacity between 32 and 64 KiB, line 64 B, ways 8 to 15";
  BOOST_TEST(has(text, "L1d from the misses of the kernel stride: " + values));
  BOOST_TEST(text.find(values) < text.find("## Machine"));
  BOOST_TEST(times(text, "while several accesses share a line") == 2U); // of misses, and of times
  BOOST_TEST(!has(text, "so the penalty"));                             // accesses of this kernel overlap
  BOOST_TEST(has(text, "show no miss penalty"));
  BOOST_TEST(times(text, "need a core PMU") == 0U);
}

BOOST_AUTO_TEST_CASE(modelled_misses_answer_nothing_and_say_so_once) {
  const std::string text = formula_text(walk(false));
  BOOST_TEST(times(text, "need a core PMU") == 1U);
  BOOST_TEST(has(text, "Misses were not counted here (no PMU)"));
  BOOST_TEST(has(text, "cannot contradict the statement"));
}

BOOST_AUTO_TEST_CASE(every_value_is_in_a_file) {
  const std::string text = formula_text(walk(true));
  BOOST_TEST(has(text, "sweep-stride.csv\nrounds,size,stride,"));
  BOOST_TEST(has(text, "\n10,65536,16,seconds,value,0.002,,,s,clock,1,0,"));
  BOOST_TEST(has(text, "\n10,65536,16,PAPI_L1_DCM per access,value,0.25,,,,perf,1,0,"));
}

BOOST_AUTO_TEST_CASE(experiments_of_one_kernel_stay_apart) {
  result::Results results = walk(true);
  for (auto o : walk(true).observations) {
    if (result::integer(o.params, "stride") > 16) continue;
    o.params = {{"size", *result::integer(o.params, "size")},
                {"stride", *result::integer(o.params, "stride")},
                {"rounds", std::int64_t{1}}};
    results.observations.push_back(o);
  }
  const std::string text = formula_text(results);
  for (const char* rounds : {"1", "10"})
    BOOST_TEST(has(text, std::string("### Time of the kernel stride, rounds=") + rounds + "\n"));
  BOOST_TEST(has(text, "| 8 KiB | 0.01300 | 13000000 | 1.000 |"));
  BOOST_TEST(has(text, "| 8 KiB | 0.005000 | 5000000 | 1.000 |"));
  BOOST_TEST(times(text, "Mean access time in ns: kernel stride") == 2U);
  BOOST_TEST(times(formula_text(walk(true)), "rounds=10") == 0U);
}

BOOST_AUTO_TEST_CASE(model_of_this_machine_is_of_this_machine) {
  result::Results results = walk(false);
  for (auto& o : results.observations)
    if (o.witness.modelled()) o.witness = "model:host~sample";
  const std::string text = formula_text(results);
  BOOST_TEST(has(text, "modelled for the stated caches"));
  BOOST_TEST(!has(text, "nothing of this one"));
}

BOOST_AUTO_TEST_CASE(outliers_are_named_and_cpu_time_stands_beside_wall_time) {
  result::Results results = walk(true);
  result::Observation o = results.observations[1]; // 8 KiB, stride 1, by the clock
  for (int repetition = 1; repetition < 7; ++repetition) {
    o.repetition = repetition;
    o.value = repetition == 2 ? 5e-3 : 1e-3 + 1e-6 * repetition;
    o.cpu_seconds = 0.9e-3;
    results.observations.push_back(o);
  }
  const std::string text = formula_text(results);
  BOOST_TEST(has(
      text, "1 outlier, further than 14.826 median absolute deviations from the median: size=8192 stride=1, "
            "seconds by clock, repetition 3"));
  BOOST_TEST(has(text, "\n10,8192,1,seconds,median,0.001004"));
  BOOST_TEST(has(text, "\n10,8192,1,cpu_seconds,median,0.0009"));
  BOOST_TEST(times(formula_text(walk(true)), "outlier") == 0U);
}

/// Somebody's table of the same walk, with one slip: at 64 KiB and stride 16.
std::string students_table() {
  std::string csv = "# Laboratory group 7\nsize,stride,ns,l1_misses\r\n";
  for (std::int64_t size = 8192; size <= 1 << 19; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2) {
      const double misses = size == 65536 && stride == 16 ? 0.9 : misses_by_hand(size, stride);
      csv += std::to_string(size) + "," + std::to_string(stride) + "," + std::to_string(1 + 4 * misses) +
             "," + std::to_string(misses) + "\n";
    }
  return csv;
}

BOOST_AUTO_TEST_CASE(external_results_are_read_in_the_same_way_and_their_slips_found) {
  result::Results results = walk(false);
  results.runs[0].caches = {{"L1d", 32768, 64, 8}};
  const auto external = caches::parse_external(students_table(), "group7.csv");
  results.runs.push_back(external.runs[0]);
  results.observations.insert(results.observations.end(), external.observations.begin(),
                              external.observations.end());
  const std::string text = formula_text(results);
  BOOST_TEST(has(text, "### External results: group7.csv\n\nLaboratory group 7"));
  BOOST_TEST(has(
      text, "| stride | 64 KiB | 16 B | L1d | 0.900 | 0.250 | 4 accesses share a line of 64 B, and one of "
            "them misses |"));
  BOOST_TEST(times(text, " it. Unless its machine describes others") == 1U);
  BOOST_TEST(has(text, "1 of 112 cells contradicts it"));
  BOOST_TEST(has(text, "capacity between 32 and 64 KiB"));
}

BOOST_AUTO_TEST_CASE(external_results_of_one_stride_or_of_all_together_have_their_table) {
  const auto with = [](const char* csv) {
    result::Results results = walk(false);
    results.runs[0].caches = {{"L1d", 49152, 64, 12}};
    for (const result::Params& params :
         {result::Params{{"size", std::int64_t{65536}}},
          result::Params{{"size", std::int64_t{40960}}, {"stride", std::int64_t{64}}}}) {
      results.observations.push_back(results.observations.front());
      results.observations.back().params = params;
      results.observations.back().witness = "model:i7-9700"; // L1d of 32 KiB with 8 ways
    }
    auto external = caches::parse_external(csv, "lab.csv");
    results.runs.push_back(external.runs[0]);
    std::ranges::move(external.observations, std::back_inserter(results.observations));
    return formula_text(results);
  };
  const std::string one = with("size,stride,ns\n4K,64,2.073\n8K,64,1.468\n");
  BOOST_TEST(has(one, "### External results: lab.csv"));
  BOOST_TEST(has(one, "| 64 B | 2.07 | 1.47 |"));
  // 0.2 ms of 100,000 accesses and 0.3 ms of 200,000 are 2 and 1.5 ns.
  BOOST_TEST(has(with("size,t2 - t1,accesses\n4K,0.0002,100000\n8K,0.0003,200000\n"),
                 "| not stated | 2.00 | 1.50 |"));
  BOOST_TEST(
      has(with("size,l1_misses\n64K,0.5\n"), "| stride | 64 KiB | not stated | L1d | 0.500 | 0.000 |  |"));
  BOOST_TEST(
      has(with("size,stride,l1_misses\n40K,64,0.5\n"), "| 0.500 | 0.000 | 10 lines per set of 8 ways |"));
}

BOOST_AUTO_TEST_CASE(sums_over_all_strides_are_time_accesses_and_their_quotient) {
  result::Results results = walk(true);
  double seconds = 0, accesses = 0;
  for (const auto& o : results.observations)
    if (o.metric == "seconds" && result::integer(o.params, "size") == 8192)
      seconds += std::get<double>(o.value), accesses += static_cast<double>(*o.accesses);
  BOOST_TEST(
      has(formula_text(results), fmt::format("| {:.0f} | {:.3f} |", accesses, 1e9 * seconds / accesses)));
  for (auto& o : results.observations)
    if (o.metric == "seconds") o.accesses = 0;
  BOOST_TEST(formula_text(results).find("| inf |") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(external_results_that_are_none_are_refused) {
  const auto refused = [](const std::string& text, const std::string& part) {
    BOOST_CHECK_EXCEPTION((void)caches::parse_external(text, "t.csv"), Error, [&](const Error& error) {
      BOOST_TEST_CONTEXT(error.what()) BOOST_TEST(std::string(error.what()).find(part) != std::string::npos);
      return error.kind() == ErrorKind::bad_input;
    });
  };
  refused("", "t.csv");
  refused("size,stride,ns\n", "has no values");
  refused("stride,ns\n1,1\n", "there is no column size");
  refused("size,stride,seconds\n4K,1,1\n", "seconds (or t2 - t1) and accesses, only one");
  refused("size,stride,nss\n4K,1,1\n", "unknown column \"nss\"");
  refused("size,stride,ns\n4K,1\n", "t.csv:2: has 2 fields, the header has 3");
  refused("size,stride,ns\n4K,1,fast\n", "t.csv:2");
  refused("size,stride,ns\n4K,1,inf\n", "t.csv:2");
  refused("size,stride,ns\n-4,1,1\n", "t.csv:2");
  refused("size,size,ns\n4K,8K,1\n", "t.csv:1: there are two columns size");
  refused("size,l1_misses\n4K,1.5\n", "t.csv:2: \"1.5\" is not a number of misses per access");
  refused("size,seconds,accesses\n4K,1,0\n", "t.csv:2: \"0\" is not a number of accesses");
  refused("size,stride,kernel,ns\n4K,1,walk,1\n", "\"walk\" is not a kernel");
}

BOOST_AUTO_TEST_SUITE_END()
