// Hardware breakpoints count accesses to an address exactly.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/group.hpp>

#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>

using namespace recount;

BOOST_AUTO_TEST_SUITE(breakpoints, *test::needs(test::no_breakpoints))

namespace {

alignas(8) volatile std::uint64_t watched = 0;
alignas(8) volatile std::uint32_t neighbour = 0;

__attribute__((noinline)) void called() {
  asm volatile("" ::: "memory");
}

std::string at(const volatile void* address, const std::string& rest) {
  return fmt::format("mem:{:#x}{}", reinterpret_cast<std::uintptr_t>(address), rest);
}

std::string code(void (*function)()) {
  return fmt::format("mem:{:#x}:x", reinterpret_cast<std::uintptr_t>(function));
}

} // namespace

BOOST_AUTO_TEST_CASE(writes_and_accesses) {
  Group group({at(&watched, "/8:w"), at(&watched, "/8:rw")});
  group.start();
  for (int i = 0; i < 1000; ++i) {
    watched = 1;                // a write
    const auto value = watched; // a read
    (void)value;
    neighbour = 1; // elsewhere
  }
  group.stop();
  BOOST_TEST(group.read()[0].value.value() == 1000U);
  BOOST_TEST(group.read()[1].value.value() == 2000U);
}

BOOST_AUTO_TEST_CASE(executions) {
  Group group(std::vector<std::string>{code(called)});
  called();
  group.start();
  for (int i = 0; i < 1234; ++i)
    called();
  group.stop();
  called();
  BOOST_TEST(group.read()[0].value.value() == 1234U);
}

BOOST_AUTO_TEST_CASE(a_breakpoint_beside_a_software_event) {
  FreshPages memory(11);
  Group group({"perf::PAGE-FAULTS", at(&watched, "/8:w:u")});
  group.start();
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 11);
  for (int i = 0; i < 25; ++i)
    watched = 1;
  group.stop();
  BOOST_TEST(group.read()[0].value.value() == 10U);
  BOOST_TEST(group.read()[1].value.value() == 25U);
}

BOOST_AUTO_TEST_SUITE_END()
