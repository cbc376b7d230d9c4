// Bounds of counts that nobody knows exactly: what processors count is within, what they cannot count is not.
// Cycles per instruction are those of vendors' manuals: Intel 64 and IA-32 Architectures Optimization
// Reference Manual, appendix "Instruction latency and throughput"; AMD Software Optimization Guide for Zen 4;
// Arm Cortex-A53 to X2 guides.
#include "kernel/kernel.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_SUITE(bounds)

namespace {

/// Counts per `units` of the presets at a point.
struct Bounded {
  std::string point;   ///< "kernel name=value name=value"
  double units;        ///< steps, jumps, rounds: what the counts are per
  std::string presets; ///< separated by blanks
  std::vector<double> within, outside;
};
std::ostream& operator<<(std::ostream& out, const Bounded& one) {
  return out << one.point << " " << one.presets;
}

const std::string multiplications = "integer operation=multiply turns=1000",
                  nops = "integer operation=nop turns=1000",
                  stalls = "PAPI_STL_ICY PAPI_STL_CCY PAPI_RES_STL", full = "PAPI_FUL_ICY PAPI_FUL_CCY",
                  tlb = "PAPI_TLB_DM PAPI_TLB_TL";

const std::vector<Bounded> all_bounds = {
    // Latency of a 64-bit multiplication: 3 (Skylake, Zen 4) to 6 cycles (in-order Arm).
    {multiplications, 16000, "PAPI_TOT_CYC PAPI_BRU_IDL PAPI_FPU_IDL PAPI_LSU_IDL", {3, 4, 6}, {0.5, 9}},
    // The same at 800 MHz to 4 GHz against a clock of 2 GHz.
    {multiplications, 16000, "PAPI_REF_CYC", {1.5, 6, 15}, {0.1, 40}},
    {multiplications, 16000, stalls, {2, 3, 5}, {0.25, 9}},
    {multiplications, 16000, full, {0, 0.25}, {0.4}},
    {multiplications, 16000, "PAPI_MEM_SCY PAPI_MEM_RCY PAPI_MEM_WCY PAPI_FP_STAL", {0}, {0.05}},
    // 1 (a narrow core) to 8 instructions issue in a cycle.
    {nops, 16000, full, {0.125, 0.25, 1}, {0.02, 1.5}},
    {nops, 16000, stalls, {0, 0.05}, {0.25}},
    // Latency of a division of doubles: 13 (Skylake, Zen 4) to 32 (Cortex-A57).
    {"float operation=divide element=f64 turns=1000", 16000, "PAPI_FP_STAL", {4, 13, 32}, {0.3, 100}},
    // Latency of memory: 60 to 500 cycles, of which most of a load, or of a store once the buffer is full.
    {"chase size=16777216 stride=256 rounds=0 passes=1",
     65536,
     "PAPI_MEM_SCY PAPI_MEM_RCY PAPI_STL_ICY PAPI_STL_CCY PAPI_FXU_IDL",
     {40, 250, 500},
     {2, 4000}},
    {"scatter operation=store size=16777216 passes=1", 262144, "PAPI_MEM_WCY", {4, 60, 500}, {0.3, 4000}},
    // A walk per page; one entry may map four adjacent ones.
    {"chase size=68157440 stride=4160 rounds=0 passes=1", 16384, tlb, {0.3, 0.9, 1}, {0.2, 1.25}},
    {"chase size=66560 stride=4160 rounds=0 passes=1000", 16000, tlb, {0, 0.01}, {0.1}},
    {"scatter operation=store size=67108864 stride=4096 passes=1", 16384, tlb, {0.3, 1}, {0.2, 1.25}},
    {"code size=68157440 stride=4160 passes=1", 16384, "PAPI_TLB_IM", {0.3, 1, 2}, {0.2, 2.25}},
    {"code size=66560 stride=4160 passes=1000", 16000, "PAPI_TLB_IM PAPI_TLB_TL", {0, 0.01}, {0.1}},
    {"code size=4194304 passes=1", 65536, "PAPI_BTAC_M", {0.5, 1}, {0.2, 2.5}},
    // A fetch per line, or per 16 bytes of it and one for the next line.
    {"code size=16384 fill=full passes=10",
     2560,
     "PAPI_L1_ICA PAPI_L1_ICR PAPI_L1_ICH",
     {1, 2, 4, 5},
     {0.8, 6}},
    {"code size=524288 passes=4", 32768, "PAPI_L1_ICA PAPI_L1_ICR", {1, 2, 5}, {0.8, 6}},
    {"code size=131072 l1i=32768 l2=262144 passes=10",
     20480,
     "PAPI_L1_ICM PAPI_L1_TCM PAPI_L2_ICA PAPI_L2_ICR PAPI_L2_ICH",
     {0.75, 1, 1.3},
     {0.6, 1.5}},
    {"code size=524288 l1i=32768 l2=262144 passes=4",
     32768,
     "PAPI_L2_ICM PAPI_L2_TCM PAPI_L3_ICA PAPI_L3_ICR",
     {0.5, 1, 1.7},
     {0.4, 2}},
    {"code size=524288 l1i=32768 l2=262144 passes=4", 32768, "PAPI_STL_CCY", {10, 500}, {1, 4000}},
    // A line that two CPUs write in turn: a request of each in a round, and those of polling.
    {"sharing rounds=1000",
     1000,
     "PAPI_CA_SNP PAPI_CA_SHR PAPI_CA_CLN PAPI_CA_INV PAPI_CA_ITV",
     {1, 2, 4},
     {0.4, 17}},
    {"shootdowns rounds=1000", 1000, "PAPI_TLB_SD", {0.5, 1, 2}, {0.1, 9}},
    {"interrupts signals=100", 100, "PAPI_HW_INT", {1, 2, 20}, {0.9, 40}},
    // Half of random branches; none that a rule predicts.
    {"branch pattern=random turns=16384", 262144, "PAPI_BR_MSP", {0.45, 0.5, 0.52}, {0.1, 0.55}},
    {"branch pattern=alternating turns=16384", 262144, "PAPI_BR_MSP", {0, 0.001}, {0.01}},
};

kernel::Params parse_bounded_point(std::istringstream& words) {
  kernel::Params point;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string value = word.substr(equals + 1);
    if (value.find_first_not_of("0123456789") == value.npos)
      point[word.substr(0, equals)] = std::int64_t{std::stoll(value)};
    else
      point[word.substr(0, equals)] = value;
  }
  return point;
}

} // namespace

BOOST_DATA_TEST_CASE(bounds_hold_what_processors_count_and_nothing_else,
                     boost::unit_test::data::make(all_bounds), one) {
  std::istringstream words(one.point), presets(one.presets);
  std::string name, preset;
  words >> name;
  const auto stated = kernel::find(name).expected(parse_bounded_point(words));
  while (presets >> preset) {
    const auto found = std::ranges::find(stated, preset, &kernel::Expectation::metric);
    BOOST_TEST_REQUIRE((found != stated.end()), preset);
    const auto accepts = [&](double each) {
      const double count = each * one.units;
      return count >= found->value - found->below && count <= found->value + found->above;
    };
    for (const double each : one.within)
      BOOST_TEST(accepts(each), preset << " of " << each << " is refused");
    for (const double each : one.outside)
      BOOST_TEST(!accepts(each), preset << " of " << each << " is accepted");
  }
}

BOOST_AUTO_TEST_SUITE_END()
