// Wrong stories about counts that strangers published (tests/data/field): each is refuted.
#include "commands/explain/explanation.hpp"
#include "run/result/products.hpp"
#include "tables.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace recount;
using namespace recount::explain;

BOOST_AUTO_TEST_SUITE(planted_stories)

namespace {

/// A claim that is wrong for a group, as a row of a file of hypotheses.
struct Story {
  const char *group, *row;
};
constexpr Story wrong_stories[] = {
    // A Skylake core with pages of 4 KiB.
    {"g06", "L1 | i7-9700~huge | huge pages"},
    {"g06", "L1 | i7-9700~no-tlb | page walks are not counted"},
    {"g06", "L1 | i7-9700~stlb=1536:12 | a linear index of the second TLB level"},
    {"g06", "L1 | i7-9700~stlb=1536:6 | Broadwell"},
    {"g06", "L1 | i7-4770 | Haswell"},
    {"g06", "L1 | i7-2600 | Sandy Bridge"},
    {"g06", "L1 | i7-9700~stlb=2048:16:xor | a second TLB level of 2048 entries"},
    {"g06", "L1 | i7-9700~stlb=1024:8:xor | a second TLB level of 1024 entries, hashed"},
    {"g06", "L1 | i5-1035g1 | L1 of 48 KiB"},
    {"g06", "L1 | ryzen-5950x | Zen 3"},
    {"g06", "L2 | demand | 0.93 1.07 | only the lines that are needed"},
    {"g06", "L2 | few | 0 0.1 | demand misses after prefetching"},
    // A Sandy Bridge.
    {"g36", "L1 | i7-9700 | Skylake"},
    {"g36", "L1 | i7-2600~stlb=1024:8 | a second TLB level of twice the entries"},
    {"g36", "L1 | i7-2600~huge | huge pages"},
    // A Skylake core with huge pages.
    {"g30", "L1 | i7-9700 | Skylake"},
    {"g30", "L1 | i5-1035g1~huge | L1 of 48 KiB"},
    // A Zen 3.
    {"g38", "L1 | ryzen-5950x~stlb=2048:16 | a second TLB level of 16 ways"},
    {"g38", "L1 | i7-9700 | Skylake"},
    {"g38", "L2 | twice | 1.45 2.30 | prefetches are counted"},
};

/// What is true of one of the groups; a wrong story is told beside all of these.
constexpr const char* truth = "L1 | i7-9700 | Skylake\nL1 | i7-2600 | Sandy Bridge\n"
                              "L1 | ryzen-5950x | Zen 3\n"
                              "L2 | twice | 1.45 2.30 | prefetches are counted\n"
                              "L2 | few | 0 0.1 | demand misses after prefetching\n";
struct TrueStory {
  const char *group, *subject;
};
constexpr TrueStory true_stories[] = {{"g06", "i7-9700"}, {"g06", "twice"},       {"g36", "i7-2600"},
                                      {"g30", "twice"},   {"g38", "ryzen-5950x"}, {"g38", "few"}};

/// How far the model may be off, as in the shipped hypotheses.
constexpr const char* allowances = "allowance | ijk | 0 | 2\nallowance | ikj | 0 | 3\n"
                                   "allowance | ikj | 3500 | 4\n";

bool is_left(const Explanation& e, const std::string& machine_or_count) {
  return std::ranges::any_of(
             e.survivors(),
             [&](const Trial* trial) { return trial->hypothesis->machine == machine_or_count; }) ||
         std::ranges::any_of(e.counts, [&](const CountTrial& trial) {
           return trial.survives && trial.hypothesis->name == machine_or_count;
         });
}

std::string subject_of(const std::string& row) {
  const auto begin = row.find("| ") + 2;
  return row.substr(begin, row.find(" |", begin) - begin);
}

} // namespace

BOOST_AUTO_TEST_CASE(twenty_of_twenty_wrong_stories_are_refuted_and_the_true_ones_are_not) {
  std::map<std::string, std::string> told;
  for (const Story& story : wrong_stories)
    if (std::string(truth).find(story.row) == std::string::npos)
      told[story.group] += std::string(story.row) + "\n";
  std::size_t refuted = 0;
  for (const auto& [group, rows] : told) {
    const Hypotheses hypotheses = parse_hypotheses(truth + rows + allowances, "stories.txt");
    Explainer explainer(hypotheses, shared_predictor());
    const Explanation e = explainer.explain(published(group));
    for (const Story& story : wrong_stories)
      if (story.group == group) {
        const bool left = is_left(e, subject_of(story.row));
        BOOST_TEST_CONTEXT(group << ": " << story.row) BOOST_TEST(!left);
        refuted += std::size_t{!left};
      }
    // A tool that refutes everything would pass so far.
    for (const TrueStory& story : true_stories)
      if (story.group == group)
        BOOST_TEST_CONTEXT(group << ": " << story.subject) BOOST_TEST(is_left(e, story.subject));
  }
  BOOST_TEST(refuted == 20U);
}

BOOST_AUTO_TEST_CASE(noise_in_place_of_counts_is_explained_by_nothing) {
  Explainer explainer(shipped_hypotheses(), shared_predictor());
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    Group noise = published("g06");
    for (auto& [cell, values] : noise.columns.at(l1_metric))
      values = Values({values.median * (0.3 + static_cast<double>(random() % 1000) / 500)});
    const Explanation e = explainer.explain(noise);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(e.l1);
      BOOST_TEST(e.survivors().empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
