// What the machines' events count of blocks whose instructions are known one by one.
#include "events.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(counts)

namespace {

constexpr std::int64_t turns = 1000;
constexpr std::uint64_t steps = 16 * turns;

/// A block, an event, and the count by the event's description.
struct Known {
  const char *machine, *block;
  std::uint64_t config, count;
};
std::ostream& operator<<(std::ostream& out, const Known& one) {
  return out << one.machine << " " << one.block << " 0x" << std::hex << one.config;
}

const Known known[] = {
    // Skylake: INST_RETIRED, BR_INST_RETIRED, MEM_INST_RETIRED, FP_ARITH_INST_RETIRED, L1D, L2_RQSTS
    {"skl", "integer_add", 0x00c0, 18 * turns + 3},
    {"skl", "branch_not_taken", 0x10c4, steps + 1},
    {"skl", "branch_call", 0x02c4, steps},
    {"skl", "branch_call", 0x08c4, steps + 1},
    {"skl", "branch_system_call", 0x40c4, steps},
    {"skl", "branch_system_call", 0x00c0, 66 * turns + 3},
    {"skl", "transfer_update", 0x81d0, steps + 3},
    {"skl", "transfer_update", 0x82d0, steps},
    {"skl", "transfer_update", 0x83d0, steps + 3},
    {"skl", "sync_atomic", 0x21d0, steps},
    {"skl", "float_add_f64_scalar", 0x01c7, steps},
    {"skl", "float_add_f64_scalar", 0x04c7, 0},
    {"skl", "float_add_f32_128", 0x08c7, steps},
    {"skl", "float_add_f32_128", 0x02c7, 0},
    {"skl", "float_multiply_f64_128", 0x05c7, steps}, // two unit masks: their sum
    {"skl", "float_root_f32_scalar", 0x02c7, steps},
    {"skl", "evict_load", 0x0151, steps},
    {"skl", "evict_load", 0x2124, steps},
    {"skl", "evict_store", 0x2224, steps},
    {"skl", "evict_prefetch", 0x3824, steps},
    {"skl", "evict_load", 0xc124, 0},
    {"skl", "evict_load", 0x412e, steps},
    // Zen 4: PMCx0C0, PMCx0C2, PMCx0D1, PMCx029, PMCx003, PMCx00A, PMCx064
    {"zen4", "integer_add", 0x00c0, 18 * turns + 3},
    {"zen4", "branch_taken", 0x00c2, 17 * turns + 1},
    {"zen4", "branch_taken", 0x00d1, 17 * turns},
    {"zen4", "branch_taken", 0x00c4, 17 * turns},
    {"zen4", "branch_system_call", 0x00c6, steps},
    {"zen4", "transfer_update", 0x0429, steps},
    {"zen4", "transfer_update", 0x0129, 3},
    {"zen4", "transfer_update", 0x0729, steps + 3},
    {"zen4", "float_add_f64_128", 0x0103, 2 * steps},
    {"zen4", "float_multiply_f32_128", 0x0203, 4 * steps},
    {"zen4", "float_divide_f64_scalar", 0x1f03, steps},
    {"zen4", "float_add_f64_128", 0x100a, steps},
    {"zen4", "float_add_f64_128", 0xf00a, steps},
    {"zen4", "float_add_f64_128", 0x010a, 0},
    {"zen4", "evict_load", 0x0864, steps},
    {"zen4", "evict_load", 0x4064, 0},
};

std::uint64_t counted(std::uint64_t config, const std::string& block) {
  EventFd event(raw(config));
  BOOST_REQUIRE_EQUAL(event.error(), 0);
  event.control(PERF_EVENT_IOC_ENABLE);
  const auto before = event.value(), between = event.value(); // of a read itself
  execute_block(block, turns);
  const auto after = event.value();
  return after - between - (between - before);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_block_counts_what_the_description_says) {
  int compared = 0;
  for (const Known& one : known)
    if (simulated(one.machine)) {
      BOOST_TEST_CONTEXT(one) BOOST_TEST(counted(one.config, one.block) == one.count);
      ++compared;
    }
  BOOST_TEST(compared > 10);
}

BOOST_AUTO_TEST_CASE(the_kernel_is_counted_where_it_is_not_excluded) {
  auto attr = hardware();
  attr.exclude_kernel = 0;
  EventFd both(attr), user(hardware());
  both.control(PERF_EVENT_IOC_ENABLE);
  user.control(PERF_EVENT_IOC_ENABLE);
  add_turns(turns);
  BOOST_TEST(both.value() > user.value() + 1000);
  const auto before = both.value() - user.value();
  execute_block("branch_system_call", 1);
  BOOST_TEST(both.value() - user.value() > before + 16 * 1000);
}

BOOST_AUTO_TEST_CASE(a_code_without_a_description_counts_nothing) {
  BOOST_TEST(counted(0xfffe, "integer_add") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
