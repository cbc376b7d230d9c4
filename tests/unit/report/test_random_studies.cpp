// Random results files of the matrix study: what holds in every report of them.
#include "base/statistics/statistics.hpp"
#include "commands/cli/commands.hpp"
#include "commands/matmul/matmul_tables.hpp"
#include "random_study.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

using namespace recount;
using namespace recount::test;

BOOST_AUTO_TEST_SUITE(random_studies)

namespace {

using show::Datum;

std::string key(const Datum& datum, const std::string& name) {
  const auto found = std::ranges::find(datum.keys, name, [](const auto& pair) { return pair.first; });
  return found == datum.keys.end() ? "" : found->second;
}

/// What a value is of: machine, loops, element, size, quantity, witness.
std::string name_of(const Datum& datum, const std::string& loops, const std::string& quantity) {
  return fmt::format("{}|{}|{}|{}|{}|{}", key(datum, "machine"), loops, key(datum, "element"),
                     key(datum, "n"), quantity, datum.witness);
}

/// The metric of both sides of a comparison.
std::string compared_metric(const std::string& quantity) {
  static const std::map<std::string, std::string> names{
      {"speed-up by time", "seconds"},           {"speed-up by CPU time", "cpu_seconds"},
      {"speed-up by cycles", "PAPI_TOT_CYC"},    {"speed-up by TSC cycles", "tsc_cycles"},
      {"L1 hit rate difference", "L1_HIT_RATE"}, {"L2 hit rate difference", "L2_HIT_RATE"}};
  return names.at(quantity);
}

/// Screens of machines that have more than 24 lines, or lines of more than 80 columns.
std::vector<std::string> check_screens(const result::Results& results) {
  std::vector<std::string> faults;
  for (const auto& group : matmul::group_products(results)) {
    const std::string text = matmul::screen_text({group}, 80);
    if (const auto lines = std::ranges::count(text, '\n'); lines > 24)
      faults.push_back(fmt::format("{} lines: {}", lines, text));
    if (static const std::regex wide(R"([^\n]{81})"); std::regex_search(text, wide))
      faults.push_back("too wide: " + text);
  }
  return faults;
}

/// The values of a report by name, and what is wrong with them.
class Checked {
public:
  Checked(const report::Report& report, bool full) {
    for (const auto* const table : tables_in(report))
      for (const Datum& datum : table->data)
        if (!key(datum, "loops").empty() && datum.value) add(datum);
    for (const auto* const table : tables_in(report))
      for (const Datum& datum : table->data)
        if (!key(datum, "loops").empty()) check(*table, datum);
    if (full) check_sentences(report.document); // the short form has fewer comparisons
  }

  std::vector<std::string> faults;
  std::map<std::string, int> compared;

private:
  void add(const Datum& datum) {
    const std::string name = name_of(datum, key(datum, "loops"), datum.quantity);
    if (!key(datum, "repetition").empty())
      repetitions_[name].push_back(*datum.value);
    else if (!key(datum, "compared with").empty())
      established_[key(datum, "machine") + "|" + key(datum, "loops") + "|" + key(datum, "compared with") +
                   "|" + key(datum, "n")] |= datum.reason.empty();
    else if (!values_.emplace(name, *datum.value).second && values_[name] != *datum.value)
      faults.push_back(name + " has two values");
  }

  void expect(const std::string& name, double value, double computed, const char* what) {
    ++compared[what];
    if (std::abs(value - computed) > 1e-9 * std::max(1.0, std::abs(value)))
      faults.push_back(fmt::format("{}: {}, not {}", name, value, computed));
  }

  void check(const show::Table& table, const Datum& datum) {
    const std::string name = name_of(datum, key(datum, "loops"), datum.quantity);
    if (!datum.value && datum.reason.empty()) faults.push_back(name + " has neither a value nor a reason");
    if (!datum.value || !key(datum, "repetition").empty()) return;
    if (datum.low && !(*datum.low <= *datum.value && *datum.value <= *datum.high))
      faults.push_back(name + " is outside its interval");
    if (datum.quantity.ends_with("_HIT_RATE"))
      if (++compared["rates"]; *datum.value < 0 || *datum.value > 1)
        faults.push_back(fmt::format("{}: {}", name, *datum.value));
    if (const std::string other = key(datum, "compared with"); !other.empty()) {
      const std::string metric = compared_metric(datum.quantity);
      const auto a = values_.find(name_of(datum, key(datum, "loops"), metric)),
                 b = values_.find(name_of(datum, other, metric));
      if (a != values_.end() && b != values_.end())
        expect(name, *datum.value,
               datum.quantity.starts_with("speed") ? b->second / a->second : a->second - b->second,
               "comparisons");
      const bool marked = std::ranges::any_of(table.rows, [](const auto& row) {
        return std::ranges::any_of(
            row, [](const show::Cell& cell) { return cell.text.find(" ?") != std::string::npos; });
      });
      if (!datum.reason.empty() && !marked) faults.push_back(name + " has no mark");
    } else if (const auto all = repetitions_.find(name); all != repetitions_.end()) {
      expect(name, *datum.value, statistics::median(all->second), "medians");
    }
  }

  /// What a sentence calls faster is established in a table.
  void check_sentences(const document::Document& document) {
    static const std::regex faster(
        R"(^(.+) is [0-9.]+ times as fast as (.+?)( by CPU time)?, n = (\d+), though .*)");
    for (const auto& block : document.blocks)
      if (const auto* const list = std::get_if<document::List>(&block))
        for (const std::string& item : list->items) {
          std::smatch found;
          if (!std::regex_match(item, found, faster)) continue;
          ++compared["sentences"];
          const std::string pair = fmt::format("|{}|{}|{}", found[1].str(), found[2].str(), found[4].str());
          if (std::ranges::none_of(established_,
                                   [&](const auto& one) { return one.second && one.first.ends_with(pair); }))
            faults.push_back("no table establishes: " + item);
        }
  }

  std::map<std::string, double> values_;
  std::map<std::string, std::vector<double>> repetitions_;
  std::map<std::string, bool> established_; ///< by machine, both loops and size
};

} // namespace

BOOST_AUTO_TEST_CASE(no_two_places_of_a_report_disagree, *boost::unit_test::label("more")) {
  std::map<std::string, int> compared;
  int faulty = 0;
  for (int i = 0; i < cases(); ++i) {
    Random random(static_cast<std::uint64_t>(i));
    const result::Results results = RandomFile(random).build();
    std::vector<std::string> faults;
    try {
      for (const bool full : {true, false}) {
        const Checked checked(
            report::build_report(results, {{"random"}, "0", "", full}, {cli::figures(), cli::sections()}),
            full);
        std::ranges::copy(checked.faults, std::back_inserter(faults));
        for (const auto& [what, count] : checked.compared)
          compared[what] += count;
      }
      std::ranges::move(check_screens(results), std::back_inserter(faults));
    } catch (const Error& error) { // only where every run of it is missing
      if (std::string(error.what()).find("no data") == std::string::npos) faults.emplace_back(error.what());
    }
    if (!faults.empty() && ++faulty <= 5) BOOST_ERROR("file " << i << ": " << faults.front());
  }
  BOOST_TEST(faulty == 0);
  for (const char* what : {"rates", "comparisons", "medians", "sentences"}) {
    BOOST_TEST_MESSAGE(what << " compared: " << compared[what]);
    if (cases() >= 100) BOOST_TEST(compared[what] > cases() / 10, what);
  }
}

BOOST_AUTO_TEST_SUITE_END()
