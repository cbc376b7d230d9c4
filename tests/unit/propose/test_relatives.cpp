// Rows for a CPU from the rows of others: events of an invented vendor, whose every case is known; and PAPI's
// table with the rows of each CPU hidden.
#include "commands/propose/propose.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/written.hpp"
#include "skip.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace recount;

namespace {

// Three PMUs: code, name, description. `new` has one event under another name, one with another code, one
// with another name and code, one whose code means something else now, and lacks one.
constexpr const char* events = "# recount event catalogue 1: test\n"
                               "P\t1001\t4\t0\told_a\tIntel A\n"
                               "M\tc e\n"
                               "E\t10\tCYCLES\t\tCore clock cycles while not halted\n"
                               "E\t11\tLOADS\t\tLoad instructions retired\n"
                               "E\t12\tBRANCHES\t\tBranch instructions retired by the core\n"
                               "E\t13\tMISSES\t\tData cache lines replaced in the first level\n"
                               "E\t14\tSLOTS\t\tIssue slots without micro-operations delivered\n"
                               "E\t15\tGONE\t\tSegment register loads performed\n"
                               "E\t33\tREPLACEMENTS\t\tData cache lines replaced in the first level\n"
                               "E\t40\tFP\t\tFloating point instructions retired\n"
                               "U\t1\t128B\t\tpacked instructions on 128 bits, two elements\n"
                               "U\t2\t256B\t\tpacked instructions on 256 bits, four elements\n"
                               "U\t4\t512B\t\tpacked instructions on 512 bits, eight elements\n"
                               "P\t1002\t4\t0\told_b\tIntel B\n"
                               "M\tc e\n"
                               "E\t10\tCYCLES\t\tCore clock cycles while not halted\n"
                               "E\t11\tLOADS\t\tLoad instructions retired\n"
                               "E\t99\tSTORES\t\tStore instructions retired\n"
                               "E\t33\tFILLS\t\tData cache lines replaced in the first level\n"
                               "P\t1003\t4\t0\tnew\tIntel C\n"
                               "M\tc e\n"
                               "E\t10\tCYCLES\t\tCore clock cycles while not halted\n"
                               "E\t21\tLOADS\t\tLoad instructions retired\n"
                               "E\t12\tBR_RETIRED\t\tBranch instructions retired\n"
                               "E\t33\tL1_REPLACED\t\tData cache lines replaced in the first level\n"
                               "E\t40\tFP\t\tFloating point instructions retired\n"
                               "U\t1\t128B\t\tpacked instructions on 512 bits, eight elements\n"
                               "U\t2\t256B\t\tpacked instructions on 256 bits, four elements\n"
                               "E\t14\tUNRELATED\t\tFloating point divider active\n"
                               "E\t11\tSTALLS\t\tCycles with an empty reorder buffer\n";

constexpr const char* table =
    "CPU,old_a\n"
    "PRESET,PAPI_TOT_CYC,NOT_DERIVED,CYCLES\n"
    "PRESET,PAPI_LD_INS,NOT_DERIVED,LOADS\n"
    "PRESET,PAPI_BR_INS,NOT_DERIVED,BRANCHES:c=1\n"
    "PRESET,PAPI_L1_DCM,DERIVED_SUB,MISSES,LOADS\n"
    "PRESET,PAPI_STL_ICY,NOT_DERIVED,SLOTS\n"
    "PRESET,PAPI_CA_INV,NOT_DERIVED,GONE\n"
    "PRESET,PAPI_L1_TCM,DERIVED_ADD,MISSES,REPLACEMENTS\n"
    "PRESET,PAPI_DP_OPS,DERIVED_POSTFIX,N0|2|*|N1|4|*|+|N2|8|*|+|,FP:128B,FP:256B,FP:512B\n"
    "PRESET,PAPI_VEC_DP,DERIVED_ADD,FP:128B,FP:256B,FP:512B\n"
    "CPU,old_b\n"
    "PRESET,PAPI_TOT_CYC,NOT_DERIVED,CYCLES\n"
    "PRESET,PAPI_LD_INS,DERIVED_ADD,LOADS,FILLS\n";

const propose::Proposal* row(const propose::Proposals& all, const std::string& preset) {
  const auto at = std::ranges::find(all.rows, preset, &propose::Proposal::preset);
  return at == all.rows.end() ? nullptr : &*at;
}
bool remarks(const propose::Proposal& proposal, const std::string& what) {
  return std::ranges::any_of(proposal.remarks,
                             [&](const std::string& r) { return r.find(what) != std::string::npos; });
}

struct Invented {
  preset::Catalogue catalogue = preset::Catalogue::of(events);
  PresetTable rows = PresetTable::of(table, "t.csv");
  propose::Lineage lineage{rows, &catalogue};
  propose::Proposals all = lineage.propose("new", {"old_a", "old_b"});
};

} // namespace

BOOST_FIXTURE_TEST_CASE(terms_are_translated, Invented) {
  BOOST_TEST_REQUIRE(row(all, "PAPI_TOT_CYC"));
  BOOST_TEST(row(all, "PAPI_TOT_CYC")->formulas.front().row == "PRESET,PAPI_TOT_CYC,NOT_DERIVED,CYCLES");
  BOOST_TEST(row(all, "PAPI_TOT_CYC")->remarks.empty());
  BOOST_TEST((row(all, "PAPI_TOT_CYC")->confidence == propose::Confidence::high)); // two rows, one formula
  BOOST_TEST_REQUIRE(row(all, "PAPI_BR_INS")); // a new name of the same code
  BOOST_TEST(row(all, "PAPI_BR_INS")->formulas.front().row ==
             "PRESET,PAPI_BR_INS,NOT_DERIVED,BR_RETIRED:c=1");
  BOOST_TEST(remarks(*row(all, "PAPI_BR_INS"), "BRANCHES is named BR_RETIRED here (code 0x12)"));
  BOOST_TEST_REQUIRE(row(all, "PAPI_L1_DCM")); // a new name and code of the same description, and a new code
  BOOST_TEST(row(all, "PAPI_L1_DCM")->formulas.front().row ==
             "PRESET,PAPI_L1_DCM,DERIVED_SUB,L1_REPLACED,LOADS");
  BOOST_TEST(remarks(*row(all, "PAPI_L1_DCM"), "has the description of L1_REPLACED here (code 0x33)"));
  BOOST_TEST(remarks(*row(all, "PAPI_L1_DCM"), "LOADS: code 0x11 there, 0x21 here"));
}

BOOST_FIXTURE_TEST_CASE(a_width_that_the_cpu_lacks_is_left_out, Invented) {
  BOOST_TEST_REQUIRE(row(all, "PAPI_DP_OPS"));
  BOOST_TEST(row(all, "PAPI_DP_OPS")->formulas.front().row ==
             "PRESET,PAPI_DP_OPS,DERIVED_POSTFIX,N0|2|*|N1|4|*|+|,FP:128B,FP:256B");
  BOOST_TEST_REQUIRE(row(all, "PAPI_VEC_DP"));
  BOOST_TEST(row(all, "PAPI_VEC_DP")->formulas.front().row ==
             "PRESET,PAPI_VEC_DP,DERIVED_ADD,FP:128B,FP:256B");
  BOOST_TEST(remarks(*row(all, "PAPI_VEC_DP"), "FP:512B is left out"));
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_translated_has_a_reason, Invented) {
  for (const std::string preset : {"PAPI_STL_ICY", "PAPI_CA_INV"}) {
    BOOST_TEST(!row(all, preset), preset);
    const auto at = std::ranges::find(all.missing, preset, &propose::Unproposed::preset);
    BOOST_TEST_REQUIRE((at != all.missing.end()));
    BOOST_TEST(at->reason.find("has no counterpart here") != std::string::npos, at->reason);
  }
}

BOOST_FIXTURE_TEST_CASE(a_row_with_an_error_by_lint_is_not_proposed, Invented) {
  // Two events of old_a are one event of new: its sum would count it twice.
  const auto at = std::ranges::find(all.missing, "PAPI_L1_TCM", &propose::Unproposed::preset);
  BOOST_TEST_REQUIRE((at != all.missing.end()));
  BOOST_TEST(at->reason.find("recount lint: PAPI_L1_TCM adds L1_REPLACED") == 0U, at->reason);
}

BOOST_FIXTURE_TEST_CASE(other_formulas_of_relatives_are_named, Invented) {
  const auto* const loads = row(all, "PAPI_LD_INS");
  BOOST_TEST_REQUIRE(loads);
  BOOST_TEST(loads->formulas.size() == 2U);
  BOOST_TEST(remarks(*loads, "old_b: "));
  BOOST_TEST((loads->confidence != propose::Confidence::high));
}

BOOST_FIXTURE_TEST_CASE(the_csv_is_read_as_the_proposed_rows, Invented) {
  const std::string csv = propose::format_csv(all, "t.csv");
  const LoadedTable loaded =
      PresetTable::of(csv).load("new", -1, [](const std::string&) { return Known::yes; });
  BOOST_TEST(loaded.presets.size() == all.rows.size());
  for (const auto& proposal : all.rows)
    BOOST_TEST(loaded.find(proposal.preset), proposal.preset);
}

BOOST_AUTO_TEST_CASE(confidence_is_high_only_where_the_nearest_relative_agrees) {
  const auto catalogue =
      preset::Catalogue::of(std::string(events) + "P\t1004\t4\t0\told_c\tIntel D\nM\tc e\n"
                                                  "E\t10\tCYCLES\t\tCore clock cycles while not halted\n");
  const std::string cycles = "PRESET,PAPI_TOT_CYC,NOT_DERIVED,CYCLES\n";
  const auto without = PresetTable::of("CPU,old_a\nPRESET,PAPI_LD_INS,NOT_DERIVED,LOADS\nCPU,old_b\n" +
                                           cycles + "CPU,old_c\n" + cycles,
                                       "t.csv"); // old_a is the nearest
  const auto all = propose::Lineage(without, &catalogue).propose("new", {"old_a", "old_b", "old_c"});
  BOOST_TEST_REQUIRE(row(all, "PAPI_TOT_CYC"));
  BOOST_TEST((row(all, "PAPI_TOT_CYC")->confidence == propose::Confidence::medium));
}

// PAPI's own table: the shares that recount-propose(1) states are at least these.
BOOST_AUTO_TEST_CASE(rows_of_papi_are_found_again) {
  if (!preset::core_pmu("skl")) return test::skip("libpfm4 has no tables of x86 CPUs");
  std::string installed;
  try {
    installed = preset::installed_tables().back();
  } catch (const Error& error) {
    return test::skip(error.what());
  }
  const PresetTable papi = PresetTable::read(installed);
  propose::Lineage lineage(papi, nullptr);
  int rows = 0, equal = 0, unremarked = 0;
  for (const std::string& cpu : lineage.cpus()) {
    const auto one = lineage.leave_out(cpu);
    BOOST_TEST(one.rows == one.equal + one.different + one.missing, cpu);
    if (one.nearest.empty()) continue;
    rows += one.rows;
    equal += one.equal;
    unremarked += one.unremarked;
  }
  BOOST_TEST(rows > 1500);
  BOOST_TEST(100 * equal >= 65 * rows, equal << " of " << rows << " rows are equal");
  BOOST_TEST(100 * unremarked < 5 * rows, unremarked << " of " << rows << " rows differ without a remark");
}

BOOST_AUTO_TEST_CASE(a_row_that_other_cpus_share_is_hidden_there_too) {
  const auto catalogue = preset::Catalogue::of(events);
  // Were the shared row of new and old_a used, it would be found again.
  const auto shared =
      PresetTable::of("CPU,old_a\nCPU,new\nPRESET,PAPI_TOT_CYC,NOT_DERIVED,CYCLES\n", "t.csv");
  propose::Lineage lineage(shared, &catalogue);
  BOOST_TEST(lineage.propose("new", {"old_a"}).rows.empty());
}
