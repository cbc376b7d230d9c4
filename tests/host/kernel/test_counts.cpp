// Closed forms against what is executed, instruction by instruction.
#include "executed.hpp"
#include "kernel/kernel.hpp"
#include "recount/error.hpp"
#include "skip.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

using namespace recount;
using kernel::Kernel;
using kernel::Params;

BOOST_AUTO_TEST_SUITE(counts)

namespace {

/// Every combination of a kernel's choices, with so many turns.
std::vector<Params> combinations(const Kernel& kernel, std::int64_t turns) {
  std::vector<Params> all = {{{"turns", turns}}};
  for (const auto& parameter : kernel.parameters()) {
    if (parameter.unit != kernel::Parameter::Unit::choice) continue;
    std::vector<Params> wider;
    for (const Params& point : all)
      for (const std::string& value : parameter.choices) {
        wider.push_back(point);
        wider.back()[parameter.name] = value;
      }
    all = wider;
  }
  return all;
}

/// Small points of the kernels that have no turns; what they execute follows from them.
struct Small {
  std::string kernel;
  Params point;
};
Params scatter_point(const char* operation, std::int64_t size, std::int64_t passes) {
  return {{"operation", std::string(operation)}, {"size", size}, {"passes", passes}};
}
Params code_point(const char* fill, std::int64_t size, std::int64_t stride, std::int64_t passes) {
  return {{"fill", std::string(fill)}, {"size", size}, {"stride", stride}, {"passes", passes}};
}
const std::vector<Small> smalls = {
    {"scatter", scatter_point("load", 1024, 1)},
    {"scatter", scatter_point("store", 4096, 3)},
    {"code", code_point("empty", 64, 64, 1)},
    {"code", code_point("empty", 4096, 64, 3)},
    {"code", code_point("full", 1024, 64, 2)},
    {"code", code_point("empty", 65536, 4160, 2)},
    {"cell", {{"operation", std::string("store")}, {"turns", std::int64_t{2}}}},
    {"cell", {{"operation", std::string("load")}, {"turns", std::int64_t{3}}}}};

bool has_turns(const Kernel& kernel) {
  const auto parameters = kernel.parameters();
  return std::ranges::find(parameters, "turns", &kernel::Parameter::name) != parameters.end();
}

/// A preset and how the executor's counts give it, spelled out a second time.
struct Read {
  std::string preset;
  double (*from)(const kernel::Tally& t);
};
const std::vector<Read> reads = {
    {"PAPI_TOT_INS", [](const kernel::Tally& t) { return t.instructions; }},
    {"PAPI_LD_INS", [](const kernel::Tally& t) { return t.loads; }},
    {"PAPI_SR_INS", [](const kernel::Tally& t) { return t.stores; }},
    {"PAPI_LST_INS", [](const kernel::Tally& t) { return t.transfers; }},
    {"PAPI_BR_INS", [](const kernel::Tally& t) { return t.conditional + t.unconditional; }},
    {"PAPI_BR_CN", [](const kernel::Tally& t) { return t.conditional; }},
    {"PAPI_BR_UCN", [](const kernel::Tally& t) { return t.unconditional; }},
    {"PAPI_BR_TKN", [](const kernel::Tally& t) { return t.taken; }},
    {"PAPI_BR_NTK", [](const kernel::Tally& t) { return t.conditional - t.taken; }},
    {"PAPI_INT_INS", [](const kernel::Tally& t) { return t.integer; }},
    {"PAPI_FP_INS", [](const kernel::Tally& t) { return t.fp; }},
    {"PAPI_FAD_INS", [](const kernel::Tally& t) { return t.adds; }},
    {"PAPI_FML_INS", [](const kernel::Tally& t) { return t.multiplies; }},
    {"PAPI_FMA_INS", [](const kernel::Tally& t) { return t.fmas; }},
    {"PAPI_FDV_INS", [](const kernel::Tally& t) { return t.divides; }},
    {"PAPI_FSQ_INS", [](const kernel::Tally& t) { return t.roots; }},
    {"PAPI_FNV_INS", [](const kernel::Tally& t) { return t.inversions; }},
    {"PAPI_FP_OPS", [](const kernel::Tally& t) { return t.half_ops + t.single_ops + t.double_ops; }},
    {"PAPI_HP_OPS", [](const kernel::Tally& t) { return t.half_ops; }},
    {"PAPI_SP_OPS", [](const kernel::Tally& t) { return t.single_ops; }},
    {"PAPI_DP_OPS", [](const kernel::Tally& t) { return t.double_ops; }},
    {"PAPI_VEC_INS", [](const kernel::Tally& t) { return t.vectors; }},
    {"PAPI_VEC_HP", [](const kernel::Tally& t) { return t.half_vectors; }},
    {"PAPI_VEC_SP", [](const kernel::Tally& t) { return t.single_vectors; }},
    {"PAPI_VEC_DP", [](const kernel::Tally& t) { return t.double_vectors; }},
    {"PAPI_SYC_INS", [](const kernel::Tally& t) { return t.fences; }},
};

void compare(const Kernel& kernel, const Params& point) {
  int compared = 0;
  const auto instance = kernel.prepare(point);
  const kernel::Tally tally = executed(instance->region());
  BOOST_TEST_CONTEXT(kernel.name() << " " << kernel::describe(point)) {
    for (const auto& expectation : kernel.expected(point)) {
      const auto read = std::ranges::find(reads, expectation.metric, &Read::preset);
      if (read == reads.end() || expectation.below + expectation.above > 0) continue;
      ++compared;
      BOOST_TEST(read->from(tally) == expectation.value, expectation.metric
                                                             << ": executed " << read->from(tally)
                                                             << ", closed form " << expectation.value);
    }
    BOOST_TEST(compared > 0);
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks_execute_what_their_closed_forms_say) {
  if (const std::string why = cannot_step(); !why.empty()) return test::skip(why);
  std::set<std::string> lacking;
  int compared = 0;
  for (const Kernel* k : kernel::all()) {
    if (!has_turns(*k) || k->name() == "cell") continue;
    for (const std::int64_t turns : {1, 4})
      for (const Params& point : combinations(*k, turns)) {
        try {
          compare(*k, point);
          ++compared;
        } catch (const Error& error) {
          BOOST_TEST((error.kind() == ErrorKind::unavailable ||
                      error.problem().cause.ends_with("has no such instruction")));
          lacking.insert(error.problem().cause);
        }
      }
  }
  BOOST_TEST_MESSAGE(compared << " points compared");
  BOOST_TEST(compared > 30);
  for (const std::string& reason : lacking)
    BOOST_TEST_MESSAGE("not executed: " << reason);
}

BOOST_AUTO_TEST_CASE(scattered_accesses_and_code_made_at_run_time_do_so_too) {
  if (const std::string why = cannot_step(); !why.empty()) return test::skip(why);
  for (const Small& small : smalls)
    compare(kernel::find(small.kernel), small.point);
}

BOOST_AUTO_TEST_SUITE_END()
