// Verdicts of recount explain --grade: the published tables, and errors planted in them.
#include "base/text.hpp"
#include "commands/explain/grade.hpp"
#include "tables.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

using namespace recount;
using namespace recount::explain;

BOOST_AUTO_TEST_SUITE(grades)

namespace {

constexpr const char* right[] = {"g01", "g03", "g06", "g20", "g22", "g30"};

std::vector<Grade> grades_of(const std::vector<Group>& groups) {
  Explainer explainer(shipped_hypotheses(), shared_predictor());
  std::vector<Explanation> all;
  for (const Group& group : groups)
    all.push_back(explainer.explain(group));
  return grade(groups, all);
}

struct Plant {
  Verdict verdict;
  std::string place;              ///< part of that of the first mark
  std::vector<std::string> words; ///< of its text
  std::function<void(Group&)> in;
};

void scale(Values& values, double factor, std::size_t runs) {
  for (std::size_t i = 0; i < std::min(runs, values.runs.size()); ++i)
    values.runs[i] *= factor;
  values = Values(values.runs, values.witness);
}
void scale(Column& column, double factor) {
  for (auto& [cell, values] : column)
    scale(values, factor, values.runs.size());
}

void add_factors(double factor, std::vector<Plant>& all) {
  const std::vector<std::string> words{fmt::format("{}", std::max(factor, 1 / factor)),
                                       factor > 1 ? "large" : "small"};
  const auto plant = [&](const char* metric, const std::string& place, const Cell& cell, std::size_t runs) {
    all.push_back({Verdict::slip, place, words, [=](Group& group) {
                     Values& values = group.columns[metric].at(cell);
                     scale(values, factor, values.runs.size() == 2 ? 2 : runs); // of two, which one is wrong?
                   }});
  };
  plant(l1_metric, "simple, n = 1400, l1_dcm", {"ijk", 0, 1400}, 99);
  plant(l1_metric, "line, n = 600, l1_dcm", {"ikj", 0, 600}, 99);
  plant(l1_metric, "line, n = 2200, l1_dcm", {"ikj", 0, 2200}, 1);
  plant(l1_metric, "block 256, n = 6144, l1_dcm", {"blocked", 256, 6144}, 99);
  plant(l2_metric, "line, n = 1400, l2_dcm", {"ikj", 0, 1400}, 99);
  if (factor < 1 || factor > 999) plant(seconds_metric, "line, n = 1800, seconds", {"ikj", 0, 1800}, 99);
  all.push_back({Verdict::slip, "column l1_dcm", words,
                 [=](Group& group) { scale(group.columns[l1_metric], factor); }});
}

std::vector<Plant> all_plants() {
  std::vector<Plant> all{
      {Verdict::slip,
       "column seconds",
       {"rows"},
       [](Group& group) { scale(group.columns[seconds_metric], 1000); }},
      {Verdict::exchanged,
       "columns l1_dcm and l2_dcm",
       {},
       [](Group& group) { std::swap(group.columns[l1_metric], group.columns[l2_metric]); }},
      {Verdict::exchanged,
       "rows of simple and line",
       {},
       [](Group& group) {
         for (auto& [metric, column] : group.columns)
           for (const std::int64_t n : {600, 1000, 1400, 1800, 2200, 2600, 3000})
             std::swap(column.at({"ijk", 0, n}), column.at({"ikj", 0, n}));
       }},
      {Verdict::exchanged,
       "block, l1_dcm",
       {"rows"},
       [](Group& group) {
         for (const std::int64_t block : {128, 256, 512})
           for (const std::int64_t n : {4096, 6144})
             std::swap(group.columns[l1_metric].at({"blocked", block, n}),
                       group.columns[l1_metric].at({"blocked", block, 14336 - n}));
       }},
      {Verdict::implausible,
       "column l1_dcm",
       {"0"},
       [](Group& group) { scale(group.columns[l1_metric], 0); }},
      {Verdict::implausible,
       "simple, n = 2200, l1_dcm",
       {"misses"},
       [](Group& group) {
         scale(group.columns[l1_metric].at({"ijk", 0, 2200}), 61, 99);
       }},
      {Verdict::repeated, "line, n = 1000, l2_dcm", {}, [](Group& group) {
         group.columns[l2_metric].at({"ikj", 0, 1000}) = group.columns[l2_metric].at({"ijk", 0, 1000});
       }}};
  for (const double factor : slip_factors) {
    add_factors(factor, all);
    add_factors(1 / factor, all);
  }
  return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(planted_errors_are_named_and_placed, *boost::unit_test::label("more")) {
  std::size_t named = 0, planted = 0;
  for (const Plant& plant : all_plants())
    for (const char* name : right) {
      Group group = published(name, 10240);
      plant.in(group);
      const Mark mark = grades_of({group})[0].marks[0];
      const bool found = mark.verdict == plant.verdict && mark.place == plant.place &&
                         std::ranges::all_of(plant.words, [&](auto& word) {
                           return std::ranges::count(base::words(mark.text), word) > 0;
                         });
      ++planted;
      named += std::size_t{found};
      if (!found)
        BOOST_TEST_MESSAGE(plant.place << " in " << name << ": " << verdict_text(mark.verdict) << ", "
                                       << mark.place << ", " << mark.text);
    }
  BOOST_TEST(100 * named >= 95 * planted);
}

BOOST_AUTO_TEST_CASE(right_tables_are_not_accused_and_copies_are) {
  std::vector<Group> groups;
  for (const char* name : right)
    groups.push_back(published(name, 10240));
  for (const Grade& one : grades_of(groups))
    BOOST_TEST_CONTEXT(one.table << " " << one.marks[0].text)
  BOOST_TEST((one.marks[0].verdict == Verdict::consistent));
  Group copy = groups[2]; // half of it, the rest of another
  copy.name = "copy";
  for (auto& [metric, column] : copy.columns)
    for (auto& [cell, values] : column)
      if (cell.n > 1400) scale(values, 1.001, 99);
  groups.push_back(copy);
  const auto all = grades_of(groups);
  for (std::size_t i = 0; i < all.size(); ++i)
    BOOST_TEST((all[i].marks[0].verdict == Verdict::same_values) == (i == 2 || i + 1 == all.size()));
  BOOST_TEST(all[2].marks[0].text.ends_with("as copy"));
  // An emulated machine counts the same twice.
  Group one = published("g06", 10240), other = one;
  BOOST_TEST((grades_of({one, other})[0].marks[0].verdict == Verdict::consistent));
}

BOOST_AUTO_TEST_SUITE_END()
