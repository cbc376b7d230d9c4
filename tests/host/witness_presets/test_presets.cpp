// Presets through perf, by what their rows say, against PAPI: over software events, on any machine.
#include "../../skip.hpp"
#include "../papi/user_events.hpp"
#include "../witness/in_child.hpp"
#include "../witness/obstacle.hpp"
#include "run/witness/both.hpp"
#include "run/witness/counting.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/papi.hpp>

#include <map>

using namespace recount;
using namespace recount::test;

BOOST_AUTO_TEST_SUITE(presets)

namespace {

const std::string pf = "perf::PAGE-FAULTS", mf = "perf::MINOR-FAULTS", cs = "perf::CONTEXT-SWITCHES";

struct Pair {
  result::Observation perf, papi;
};

Pair both(const Tables& tables, const std::string& metric) {
  return {observe_under(tables, "perf", {metric}).at(0), observe_under(tables, "papi", {metric}).at(0)};
}

std::string text(const result::Observation& o) {
  if (const auto* value = std::get_if<std::int64_t>(&o.value)) return std::to_string(*value);
  return "none: " + o.reason.get().text();
}

bool flagged(const result::Observation& o, const std::string& words) {
  for (const auto& flag : o.flags)
    if (flag.text.find(words) != flag.text.npos) return true;
  return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_derived_type_is_what_papi_counts) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  std::vector<std::pair<std::string, std::string>> rows{
      {"NOT_DERIVED," + pf, "321"},
      {"DERIVED_ADD," + pf + "," + mf, "642"},
      {"DERIVED_ADD," + pf + "," + pf + "," + pf, "963"},
      {"DERIVED_SUB," + pf + "," + mf, "0"},
      {"DERIVED_SUB," + pf + "," + mf + "," + pf, "-321"},
      {"DERIVED_CMPD," + pf + "," + mf, "321"},
      {"DERIVED_POSTFIX,N0|3|*|N1|+|," + pf + "," + mf, "1284"},
      {"DERIVED_POSTFIX,N0|N1|*|7|/|," + pf + "," + mf, "14720"},
      {"DERIVED_INFIX,(N0+N1)*2," + pf + "," + mf, "1284"},
      {"DERIVED_POSTFIX,N0|#|+|," + pf, {}},
      {"NOT_DERIVED,perf_event:::" + pf, "321"},
      {"NOT_DERIVED," + cs, "0"}, // PAPI counts user mode
  };
  if (max_terms(witness::papi_table_version()) <
      9) // from 7.3 on a name without a prefix is one of the default PMU
    rows.emplace_back("NOT_DERIVED,PAGE-FAULTS", "321");
  for (const auto& [row, value] : rows) {
    BOOST_TEST_CONTEXT(row) {
      const Pair got = both({"PRESET,PAPI_TLB_DM," + row + "\n", {}}, "PAPI_TLB_DM");
      BOOST_TEST(text(got.perf) == text(got.papi));
      BOOST_TEST((got.perf.value.index() != 0));
      if (!value.empty()) BOOST_TEST(text(got.perf) == value);
      BOOST_TEST(!flagged(got.perf, "PAPI computes"));
      BOOST_TEST(got.perf.running_ns.value_or(-1) == got.perf.enabled_ns.value_or(-2));
    }
  }
}

BOOST_AUTO_TEST_CASE(rates_use_the_clock_that_papi_states) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  const std::string per_time = "perf::TASK-CLOCK," + pf;
  for (const auto& row : {"DERIVED_PS," + per_time, "DERIVED_ADD_PS," + per_time + "," + mf}) {
    const Pair got = both({"PRESET,PAPI_TLB_DM," + row + "\n", {}}, "PAPI_TLB_DM");
    const auto perf = result::as_double(got.perf.value), papi = result::as_double(got.papi.value);
    BOOST_TEST_REQUIRE((perf && papi), text(got.perf) << ", " << text(got.papi));
    BOOST_TEST(*perf > *papi / 30); // two regions, each with its own time
    BOOST_TEST(*perf < *papi * 30);
  }
  // Over a region without its first event the rate has no value, and PAPI dies.
  const Pair got = both({"PRESET,PAPI_TLB_DM,DERIVED_PS," + cs + "," + pf + "\n", {}}, "PAPI_TLB_DM");
  BOOST_TEST((got.perf.value.index() == 0));
#if defined(__x86_64__)
  BOOST_TEST(got.papi.reason.get().cause.find("PAPI crashes while counting") == 0U, text(got.papi));
#endif
}

BOOST_AUTO_TEST_CASE(where_papi_computes_otherwise_perf_keeps_to_the_row) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  const std::string faults = "," + pf + "," + pf + "," + pf;
  const Pair infix = both({"PRESET,PAPI_TLB_DM,DERIVED_INFIX,N0-N1-N2" + faults + "\n", {}}, "PAPI_TLB_DM");
  BOOST_TEST(text(infix.perf) == "-321");
  BOOST_TEST(text(infix.papi) == "321");
  BOOST_TEST(flagged(infix.perf, "PAPI computes 321 from the same counts"));

  const Pair zero =
      both({"PRESET,PAPI_TLB_DM,DERIVED_POSTFIX,N0|N1|N2|-|/|" + faults + "\n", {}}, "PAPI_TLB_DM");
  BOOST_TEST(text(zero.perf) == "none: division by a count of 0");
  BOOST_TEST((zero.papi.value.index() != 0));
  BOOST_TEST(flagged(zero.perf, "PAPI computes " + text(zero.papi)));

  std::string nine = "PRESET,PAPI_TLB_DM,DERIVED_ADD";
  for (int i = 0; i < 9; ++i)
    nine += "," + pf;
  const Pair dropped = both({nine + "\n", {}}, "PAPI_TLB_DM");
  BOOST_TEST(text(dropped.perf) == "2889");
  BOOST_TEST(text(dropped.papi) == (max_terms(witness::papi_table_version()) < 9 ? "2568" : "2889"));

  const Pair kernel = both({"PRESET,PAPI_TLB_DM,NOT_DERIVED," + cs + ":k\n", {}}, "PAPI_TLB_DM");
  BOOST_TEST(text(kernel.papi) == "0"); // PAPI takes no notice of :k in a table
  BOOST_TEST((kernel.perf.value.index() != 0));
}

BOOST_AUTO_TEST_CASE(releases_before_7_3_read_8_terms) {
  for (const auto* release : {"6.0.0.1", "7.0.0.0", "7.0.1.0", "7.1.0.0", "7.2.0.0"})
    BOOST_TEST(max_terms(witness::papi_table_version(release)) == 8, release);
  for (const auto* release : {"7.3.0.0", "7.10.0.0", "8.0.0.0", "10.1.0.0"})
    BOOST_TEST(max_terms(witness::papi_table_version(release)) == 12, release);
}

BOOST_AUTO_TEST_CASE(several_presets_share_a_pass) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  const Tables tables{"PRESET,PAPI_TLB_DM,DERIVED_ADD," + pf + "," + mf +
                          "\nPRESET,PAPI_TLB_IM,NOT_DERIVED," + mf + "\n",
                      {}};
  const auto all =
      observe_under(tables, "perf", {"PAPI_TLB_DM", "PAPI_NO_SUCH", "PAPI_TLB_IM", pf, "PAPI_TOT_INS"});
  BOOST_TEST(text(all.at(0)) == "642");
  BOOST_TEST(all.at(1).reason.get().cause == "the table does not define it for this CPU");
  BOOST_TEST(text(all.at(2)) == "321");
  BOOST_TEST(text(all.at(3)) == "321");
  BOOST_TEST(all.at(4).reason.get().cause == "the table does not define it for this CPU");
  for (const auto& o : all)
    BOOST_TEST(!flagged(o, "pass"));
}

BOOST_AUTO_TEST_CASE(user_events_count) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  if (no_user_events()) return;
  const Pair got = both({{}, "EVENT,MY_FAULTS,DERIVED_ADD," + pf + "," + mf + "\n"}, "MY_FAULTS");
  BOOST_TEST(text(got.perf) == "642");
  BOOST_TEST(text(got.papi) == "642");
  const Pair other = both({"PRESET,PAPI_MY_OWN,DERIVED_SUB," + pf + "," + mf + "\n", {}}, "PAPI_MY_OWN");
  BOOST_TEST(text(other.perf) == "0");
  BOOST_TEST(text(other.papi) == "0");
}

BOOST_AUTO_TEST_CASE(both_count_the_same_executions_in_turn) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  const Tables tables{"PRESET,PAPI_TLB_DM,DERIVED_ADD," + pf + "," + mf + "\n", {}};
  const auto all = observe_under(tables, "both", {"PAPI_TLB_DM", "perf::TASK-CLOCK"});
  BOOST_TEST_REQUIRE(all.size() == 16U); // four passes, two witnesses, two metrics
  using enum result::Nesting;
  const std::array perf_is{outer, inner, inner, outer}, papi_is{inner, outer, outer, inner};
  for (std::size_t i = 0; i < 8; ++i) {
    const auto &count = all[i], &time = all[8 + i];
    const std::size_t pass = i / 2;
    BOOST_TEST(count.repetition == static_cast<int>(pass));
    BOOST_TEST(count.witness == (i % 2 == 0 ? "perf" : "papi"));
    BOOST_CHECK((count.nesting == (i % 2 == 0 ? perf_is : papi_is)[pass]));
    BOOST_TEST(text(count) == "642");
    BOOST_TEST(count.bias.value_or(-1) == 0); // an empty region has no faults
    BOOST_TEST(time.bias.value_or(0) > 0);    // but takes time
    BOOST_TEST(std::get<std::int64_t>(time.value) > 0);
  }
  // The outer one counts the start of the inner one as well.
  BOOST_TEST(*all[8].bias > *all[10].bias);
  BOOST_TEST(*all[11].bias > *all[9].bias);
}

BOOST_AUTO_TEST_CASE(what_an_empty_region_takes_is_taken_off) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  // Of a region that does nothing less is left than an empty one takes. Others may interfere, but not each
  // time.
  std::map<std::string, bool> taken_off{{"papi", false}, {"perf", false}};
  for (int attempt = 0; attempt < 30 && !(taken_off["papi"] && taken_off["perf"]); ++attempt)
    for (const auto& o : observe_under({}, "both", {"perf::TASK-CLOCK"}, 0))
      if (o.nesting == result::Nesting::outer && std::get<std::int64_t>(o.value) < o.bias.value())
        taken_off[o.witness.name()] = true;
  BOOST_TEST(taken_off["papi"]);
  BOOST_TEST(taken_off["perf"]);
}

BOOST_AUTO_TEST_CASE(a_count_is_complete_when_it_was_on_a_counter_all_the_time) {
  using witness::complete;
  BOOST_TEST(complete({}));
  BOOST_TEST(complete({{7, 100, 100, {}}, {0, 50, 50, {}}}));
  BOOST_TEST(!complete({{7, 100, 99, {}}}));                   // it shared its counter
  BOOST_TEST(!complete({{7, 100, 100, {}}, {7, 100, 0, {}}})); // one of the group did
  BOOST_TEST(!complete({{7, 0, 0, {}}}));                      // it was never enabled
  BOOST_TEST(!complete({{{}, 100, 100, "why"}}));
}

BOOST_AUTO_TEST_CASE(both_go_on_when_one_of_them_cannot) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  const Tables tables{"PRESET,PAPI_TLB_IM,DERIVED_POSTFIX,N0|N12|+|," + pf + "\n", {}};
  const auto all = observe_under(tables, "both", {"PAPI_TLB_IM", pf, "msr/tsc/", "seconds"});
  const auto at = [&](std::size_t metric, std::size_t pass, bool papi) -> const result::Observation& {
    return all.at((metric * 4 + pass) * 2 + (papi ? 1 : 0));
  };
  for (std::size_t pass = 0; pass < 4; ++pass) {
    BOOST_TEST(flagged(at(0, pass, true), witness::papi_crashes));
    BOOST_TEST(flagged(at(0, pass, false), witness::row_without_value));
    BOOST_TEST(text(at(1, pass, false)) == "321");
    BOOST_TEST(text(at(1, pass, true)) == "321");
    BOOST_TEST((at(2, pass, true).value.index() == 0)); // PAPI knows no sysfs names
    BOOST_CHECK((at(2, pass, false).nesting == result::Nesting::alone));
    BOOST_TEST(at(3, pass, false).reason.get().cause.find("a time") == 0U);
  }
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_row_is_said) {
  if (const std::string why = obstacle(); !why.empty()) return skip(why);
  const auto said = [](const std::string& rows) {
    return text(observe_under({rows, {}}, "perf", {"PAPI_TLB_DM"}).at(0));
  };
  const std::string unknown = said("PRESET,PAPI_TLB_DM,NOT_DERIVED,perf::NO-FAULTS\n");
  BOOST_TEST(unknown.find("does not know NO-FAULTS") != unknown.npos, unknown);
  const std::string half = said("PRESET,PAPI_TLB_DM,DERIVED_ADD," + pf + ",perf::NO-FAULTS\n");
  BOOST_TEST(half.find("none: perf::NO-FAULTS: no such event") == 0U, half);
  const std::string dies = said("PRESET,PAPI_TLB_DM,NO_SUCH_TYPE," + pf + "\n");
  BOOST_TEST(dies.find("PAPI crashes on this row") != dies.npos, dies);
  const auto* const other = preset::core_pmu("skl") == preset::default_pmu() ? "hsw::" : "skl::";
  if (!preset::core_pmu("skl")) return; // not an x86 build of libpfm4
  const std::string foreign =
      said("PRESET,PAPI_TLB_DM,NOT_DERIVED," + std::string(other) + "L1D:REPLACEMENT\n");
  BOOST_TEST(foreign.find("presets cannot use") != foreign.npos, foreign);
}

BOOST_AUTO_TEST_SUITE_END()
