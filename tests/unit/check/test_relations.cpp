// Relations between counts: what must hold by the rows of a CPU, and what is named when an event counts
// wrong.
#include "base/names.hpp"
#include "base/random.hpp"
#include "commands/check/check_counts.hpp"
#include "count/lint/lint.hpp"
#include "count/preset/written.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

using namespace recount;

BOOST_AUTO_TEST_SUITE(relations)

using namespace recount::check;

namespace {

using Names = std::vector<std::string>;
using Counts = std::map<std::string, double>;

constexpr const char* table = "CPU,skl\n"
                              "PRESET,PAPI_L1_DCM,NOT_DERIVED,L1D:REPLACEMENT\n"
                              "PRESET,PAPI_L1_ICM,NOT_DERIVED,L2_RQSTS:ALL_CODE_RD\n"
                              "PRESET,PAPI_L1_TCM,NOT_DERIVED,L2_RQSTS:MISS\n"
                              "PRESET,PAPI_L2_ICR,NOT_DERIVED,L2_RQSTS:ALL_CODE_RD\n"
                              "PRESET,PAPI_L2_ICH,NOT_DERIVED,L2_RQSTS:CODE_RD_HIT\n"
                              "PRESET,PAPI_L2_ICM,NOT_DERIVED,L2_RQSTS:CODE_RD_MISS\n"
                              "PRESET,PAPI_L2_ICA,DERIVED_ADD,L2_RQSTS:CODE_RD_HIT,L2_RQSTS:CODE_RD_MISS\n";

CountedPlace place(const std::vector<Counts>& repetitions) {
  CountedPlace one{{"run", {}, {}, {}}};
  for (const Counts& counts : repetitions)
    one.counted.passes.push_back({counts});
  return one;
}

struct Rows {
  preset::CpuView view;
  Relations relations;
};

Rows skylake(const Counts& counts) {
  const auto [core, catalogue] = lint::find_source("skl", nullptr);
  Rows rows{preset::view(preset::parse(table), "skl", core, PapiVersion::v7_0, nullptr, catalogue), {}};
  std::set<std::string> names;
  for (const auto& [name, value] : counts)
    names.insert(name);
  rows.relations = find_relations(names, &rows.view, rows.view.kind);
  return rows;
}

const Relation* find(const Relations& all, const std::string& text) {
  const auto at = std::ranges::find(all.all, text, [](const Relation& one) { return one.identity.text; });
  return at == all.all.end() ? nullptr : &*at;
}

/// What is wrong, as alternatives.
std::vector<Names> wrong(const PlaceFindings& found) {
  std::vector<Names> all;
  for (const auto& alternative : found.alternatives) {
    auto& names = all.emplace_back();
    for (const Culprit& one : alternative)
      names.push_back(one.event.empty() ? *one.metrics.begin() : one.event);
  }
  return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_decide_what_must_hold) {
  const Counts counts{{"PAPI_L1_DCM", 1}, {"PAPI_L1_ICM", 1}, {"PAPI_L1_TCM", 1}, {"PAPI_L2_ICR", 1},
                      {"PAPI_L2_ICH", 1}, {"PAPI_L2_ICM", 1}, {"PAPI_L2_ICA", 1}};
  const Rows rows = skylake(counts);
  const auto* const misses = find(rows.relations, "L1_TCM = L1_DCM + L1_ICM");
  BOOST_TEST_REQUIRE(misses);
  BOOST_TEST((misses->ground == Ground::neither));
  BOOST_TEST(misses->condition.find("L1D:REPLACEMENT") != std::string::npos, misses->condition);
  // The union of two unit masks is their sum; another row counts the same event.
  for (const char* text :
       {"L2_ICA = L2_ICH + L2_ICM", "L2_ICA = L2_ICR", "L1_ICM = L2_ICR", "L2_ICM <= L2_ICA"}) {
    const auto* const relation = find(rows.relations, text);
    BOOST_TEST_REQUIRE(relation, text);
    BOOST_TEST((relation->ground == Ground::rows), text);
  }
  // Names alone, where no rows are known.
  const auto names =
      find_relations({"PAPI_L1_TCM", "PAPI_L1_DCM", "PAPI_L1_ICM"}, nullptr, preset::CpuKind::any);
  BOOST_TEST_REQUIRE(names.all.size() == 3U);
  BOOST_TEST((names.all[0].ground == Ground::meaning));
}

BOOST_AUTO_TEST_CASE(the_value_that_restores_all_relations_is_named) {
  const auto at = [](double hits, double misses, double all, double same, double sum) {
    return Counts{{"PAPI_L2_ICH", hits},
                  {"PAPI_L2_ICM", misses},
                  {"PAPI_L2_ICA", sum},
                  {"PAPI_L1_ICM", all},
                  {"PAPI_L2_ICR", same}};
  };
  const auto tested = [&](const Counts& counts) {
    static std::vector<CountedPlace> places; // the findings point into it
    places.assign(1, place(std::vector<Counts>(5, counts)));
    return test_place(places.front(), skylake(counts).relations);
  };
  const auto right = tested(at(90000, 10000, 100000, 100000, 100000));
  BOOST_TEST((right.broken.empty() && right.held > 4));
  // A wrong value: two others are equal to one another, and to a sum.
  BOOST_TEST(
      (wrong(tested(at(90000, 10000, 105000, 100000, 100000))) == std::vector<Names>{{"PAPI_L1_ICM"}}));
  // A wrong event: all presets that count it are off.
  BOOST_TEST(
      (wrong(tested(at(94500, 10000, 100000, 100000, 104500))) ==
       std::vector<Names>{{"L2_RQSTS:ALL_CODE_RD"}, {"L2_RQSTS:CODE_RD_HIT"}, {"L2_RQSTS:CODE_RD_MISS"}}));
  // An inequality alone does not decide.
  const Counts two{{"PAPI_L2_ICM", 20000}, {"PAPI_L2_ICA", 10000}};
  BOOST_TEST((wrong(tested(two)) == std::vector<Names>{{"PAPI_L2_ICA"}, {"PAPI_L2_ICM"}}));
}

BOOST_AUTO_TEST_CASE(noise_and_estimates_accuse_nobody) {
  const Relations sum = find_relations({"PAPI_BR_INS", "PAPI_BR_CN"}, nullptr, preset::CpuKind::any);
  const auto tested = [&](std::vector<Counts> runs, double error) {
    CountedPlace one = place(runs);
    one.errors["PAPI_BR_CN"] = error;
    return test_place(one, sum).broken.size();
  };
  const auto run = [](double all, double some) { return Counts{{"PAPI_BR_INS", all}, {"PAPI_BR_CN", some}}; };
  BOOST_TEST(tested({run(1000, 1200)}, 0) == 1U);
  BOOST_TEST(tested({run(1000, 1200)}, 200) == 0U);
  BOOST_TEST(tested({run(1000, 1200), run(1000, 900), run(1000, 1500)}, 0) == 0U); // varies too much
  BOOST_TEST(tested({run(1000, 1040)}, 0) == 0U);                                  // stray counts
}

namespace {

/// Presets of a CPU over counts of native events.
struct Emulated {
  std::string pmu, rows;
  CountsFindings counted = {}; ///< the native events
  Relations of_all = {}, of_presets = {};
};

double random_share(std::uint64_t& seed) {
  return static_cast<double>(base::random_below(seed, 1'000'000)) / 1e6;
}

/// Five repetitions of a program: executions differ by 3 %, and each event by what starting and stopping
/// costs. The event counts `factor` times as often.
CountedPlace simulate(const Emulated& machine, const Counts& program, const std::string& wrong, double factor,
                      std::uint64_t& seed) {
  std::vector<Counts> repetitions;
  for (int i = 0; i < 5; ++i) {
    const double execution = 0.97 + 0.06 * random_share(seed);
    Counts events;
    for (const auto& [event, value] : program)
      events[event] = std::round(value * execution * (event == wrong ? factor : 1) + 8 * random_share(seed));
    Counts counts = events;
    for (const auto& [preset, meaning] : machine.counted.view->meanings)
      if (const auto form = formula::linear(meaning)) {
        double sum = 0;
        const bool known = std::ranges::all_of(form->coefficients, [&](const auto& term) {
          const auto at = events.find(machine.counted.view->names[static_cast<std::size_t>(term.first)]);
          if (at != events.end()) sum += static_cast<double>(term.second) * at->second;
          return at != events.end();
        });
        if (known) counts[preset] = sum;
      }
    repetitions.push_back(std::move(counts));
  }
  return place(repetitions);
}

std::vector<Emulated> emulated() {
  std::vector<Emulated> all{
      {"skl", "skl", {}, {}}, {"spr", "spr", {}, {}}, {"amd64_fam19h_zen4", "zen4", {}, {}}};
  for (Emulated& one : all) {
    Names left_out;
    const std::string folder = RECOUNT_TESTS;
    one.counted = test_counts(read_counts(folder + "/data/counts/" + one.pmu + ".csv", left_out).front(),
                              folder + "/pmu/tables/" + one.rows + ".csv", one.pmu);
    std::uint64_t seed = 1;
    const auto& events = one.counted.set.places.front().counted.passes.front().front();
    const CountedPlace any = simulate(one, events, "", 1, seed);
    std::set<std::string> metrics, presets;
    for (const auto& [name, value] : any.counted.passes.front().front()) {
      metrics.insert(name);
      if (is_preset(name)) presets.insert(name);
    }
    one.of_all = find_relations(metrics, &*one.counted.view, one.counted.view->kind);
    one.of_presets = find_relations(presets, &*one.counted.view, one.counted.view->kind);
  }
  return all;
}

/// Whether 5 % of an event are more than twice what a relation of equality allows.
bool is_covered(const Relations& relations, const CountedPlace& place, const std::string& event,
                double value) {
  return std::ranges::any_of(relations.all, [&](const Relation& relation) {
    const auto at = relation.events.find(event);
    if (relation.identity.at_most || relation.ground != Ground::rows || at == relation.events.end())
      return false;
    const auto tested = test_relation(place.counted, relation.identity, {0.001, 0});
    return tested && std::abs(0.05 * value * static_cast<double>(at->second)) > 2 * tested->margin;
  });
}

} // namespace

BOOST_AUTO_TEST_CASE(events_that_count_five_percent_wrong_are_named) {
  std::uint64_t seed = 1;
  std::size_t events = 0, covered = 0, planted = 0, named = 0, alone = 0, right = 0, accused = 0;
  Names missed;
  const auto machines = emulated();
  for (int round = 0; planted < 200 && round < 40; ++round)
    for (const Emulated& machine : machines)
      for (const PlaceFindings& program : machine.counted.places) {
        const Counts& counts = program.place->counted.passes.front().front();
        const CountedPlace sound = simulate(machine, counts, "", 1, seed);
        const Relations& all = round % 2 == 0 ? machine.of_all : machine.of_presets;
        for (int i = 0; i < 10; ++i)
          ++right,
              accused += test_place(simulate(machine, counts, "", 1, seed), all).broken.empty() ? 0U : 1U;
        for (const auto& [event, value] : counts) {
          events += round < 2 ? 1U : 0U;
          if (!is_covered(all, sound, event, value)) continue;
          covered += round < 2 ? 1U : 0U;
          const CountedPlace bad = simulate(machine, counts, event, round % 4 < 2 ? 1.05 : 0.95, seed);
          const auto answers = wrong(test_place(bad, all));
          const auto& users = all.counted_by.at(event); // one alone is named itself
          const bool names = std::ranges::any_of(answers, [&](const Names& one) {
            return one == Names{event} || (users.size() == 1 && one == Names{*users.begin()});
          });
          ++planted, named += names ? 1U : 0U, alone += names && answers.size() == 1 ? 1U : 0U;
          if (!names) missed.push_back(machine.pmu + " " + event);
        }
      }
  BOOST_TEST_MESSAGE(
      fmt::format("{} of {} events covered; {} planted, {} named, {} alone; {} of {} right sets "
                  "accused; missed: {}",
                  covered, events, planted, named, alone, accused, right, fmt::join(missed, ", ")));
  BOOST_TEST(planted >= 200U);
  BOOST_TEST(static_cast<double>(named) >= 0.95 * static_cast<double>(planted));
  BOOST_TEST(static_cast<double>(accused) <= 0.01 * static_cast<double>(right));
}

BOOST_AUTO_TEST_SUITE_END()
