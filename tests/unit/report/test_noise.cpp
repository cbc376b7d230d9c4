// A report of results without any effect states none.
#include "commands/cli/commands.hpp"
#include "commands/report/build_report.hpp"
#include "observed.hpp"
#include "random_files.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>

using namespace recount;

BOOST_AUTO_TEST_SUITE(reports_of_noise)

namespace {

constexpr int repetitions = 5;

/// A run of the study: its repetition of a product, with the values of one process.
struct RunOfStudy {
  std::string kernel;
  result::Params params;
  double steps = 0;
};

result::Params point_of(const char* variant, std::int64_t n, const char* element, const char* transpose) {
  return {{"variant", std::string(variant)},
          {"n", n},
          {"element", std::string(element)},
          {"block", std::int64_t{32}},
          {"transpose", std::string(transpose)}};
}

/// The laboratory's products in both builds, and the report's at three sizes.
std::vector<RunOfStudy> runs_of_study() {
  std::vector<RunOfStudy> runs;
  const auto add = [&](const char* kernel, const result::Params& params) {
    const auto n = static_cast<double>(std::get<std::int64_t>(params.at("n")));
    for (int i = 0; i < repetitions; ++i)
      runs.push_back({kernel, params, n * n * n});
  };
  for (const char* kernel : {"matmul", "matmul-vectorised"}) {
    add(kernel, point_of("ijk-mem", 1024, "i16", "included"));
    add(kernel, point_of("transposed", 1024, "i16", "included"));
    add(kernel, point_of("transposed", 1024, "i16", "excluded"));
    add(kernel, point_of("blocked", 1024, "i16", "included"));
  }
  for (const std::int64_t n : {600, 1000, 1400})
    for (const char* variant : {"ijk", "ikj", "blocked"})
      add("matmul", point_of(variant, n, "f64", "included"));
  return runs;
}

/// What one process measured, per step: on a busy machine some lose half of their time.
struct Measured {
  double seconds = 0, l1 = 0, l2 = 0;
};
Measured measured(std::mt19937_64& random) {
  std::normal_distribution<> normal;
  const double lost = random() % 4 == 0 ? 2.0 : 1.0;
  return {1e-9 * lost * std::exp(0.05 * normal(random)), 0.10 * std::exp(0.02 * normal(random)),
          0.09 * std::exp(0.02 * normal(random))};
}

/// Every run with the values of any other: the loops have no effect.
result::Results shuffled(std::mt19937_64& random) {
  const auto runs = runs_of_study();
  std::vector<Measured> values;
  for (std::size_t i = 0; i < runs.size(); ++i)
    values.push_back(measured(random));
  std::shuffle(values.begin(), values.end(), random);
  result::Results results = test::one_run();
  result::Run& run = results.runs.front();
  run.caches = {{"L1d", 32768, 64, 8}, {"L2", 1 << 20, 64, 16}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto add = [&](const char* witness, const char* metric, double value) {
      results.observations.push_back(test::observed(runs[i].kernel, runs[i].params, witness, metric,
                                                    value * runs[i].steps,
                                                    static_cast<int>(i % repetitions)));
    };
    add("clock", "seconds", values[i].seconds);
    add("clock", "tsc_cycles", 2.5e9 * values[i].seconds);
    add("papi", "PAPI_LD_INS", 3);
    add("papi", "PAPI_SR_INS", 1);
    add("papi", "PAPI_L1_DCM", values[i].l1);
    add("papi", "PAPI_L2_DCM", values[i].l2);
    add("papi", "PAPI_L2_DCA", values[i].l1);
  }
  return results;
}

bool compares(const std::string& head) {
  return head.starts_with("speed-up") || head.starts_with("difference in");
}
bool withheld(const std::string& cell) {
  return cell.find(" ?") != cell.npos || cell == "-";
}

/// The effects that a document states: cells of comparisons, findings, sentences of the summary.
std::vector<std::string> claims(const document::Document& document) {
  std::vector<std::string> all;
  bool summary = false;
  for (const auto& block : document.blocks) {
    if (const auto* heading = std::get_if<document::Heading>(&block)) {
      summary = heading->text == "Summary";
    }
    if (const auto* list = std::get_if<document::List>(&block))
      for (const auto& item : list->items)
        if (static const std::regex speed_up(R"(time: \d)"),
            effect("rises| times as fast|transposition changes|PAPI_L2_DCM exceeds");
            std::regex_search(item, summary ? speed_up : effect))
          all.push_back(item);
    const auto* table = std::get_if<show::Table>(&block);
    if (!table || table->caption.starts_with("Derived")) continue;
    for (const auto& row : table->rows)
      for (std::size_t c = 0; c < row.size() && c < table->columns.size(); ++c) {
        const bool number = c > 0 && table->columns[c].head != "witness";
        if (number && (compares(table->columns[c].head) || compares(row[0].text)) && !withheld(row[c].text))
          all.push_back(table->caption + ": " + row[0].text + " = " + row[c].text);
      }
  }
  return all;
}

document::Document report_of(const result::Results& results) {
  return report::build_report(results, {{"noise"}, "0", ""}, {cli::figures(), cli::sections()}).document;
}

} // namespace

BOOST_AUTO_TEST_CASE(shuffled_noise_has_no_effect_in_95_of_100_reports) {
  std::mt19937_64 random(16);
  int claiming = 0;
  for (int i = 0; i < 200; ++i) {
    const auto found = claims(report_of(shuffled(random)));
    claiming += found.empty() ? 0 : 1;
    if (!found.empty()) BOOST_TEST_MESSAGE("report " << i << ": " << found.front());
  }
  BOOST_TEST_MESSAGE(claiming << " of 200 reports state an effect");
  BOOST_TEST(claiming <= 10);
}

BOOST_AUTO_TEST_CASE(an_effect_is_stated_in_the_same_noise) {
  std::mt19937_64 random(16);
  result::Results results = shuffled(random);
  for (auto& o : results.observations)
    if (o.metric == "seconds" && o.params.at("variant") == result::ParamValue(std::string("blocked")))
      o.value = *result::as_double(o.value) / 20;
  BOOST_TEST(!claims(report_of(results)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
