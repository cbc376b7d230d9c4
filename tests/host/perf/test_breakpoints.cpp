// Hardware breakpoints count accesses to an address exactly.
#include "base/host/event_class.hpp"
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/group.hpp>

#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

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

BOOST_AUTO_TEST_CASE(groups_that_are_open_at_once_count_their_own_parts) {
  const auto check = [](Group& group, std::uint64_t expected) {
    BOOST_TEST(group.read()[0].value.value() == expected);
    BOOST_TEST(group.read()[1].value.value() == expected);
  };
  const std::vector<std::string> both{"perf::PAGE-FAULTS", at(&watched, "/8:w:u")};
  Group one(both), two(both);
  for (const bool warm : {false, true}) { // the first time, code faults as well
    FreshPages memory(31);
    auto work = [&memory, next = std::size_t{0}](std::size_t n) mutable {
      memory.touch(next, next + n);
      next += n;
      for (std::size_t i = 0; i < n; ++i)
        watched = 1;
    };
    one.reset();
    two.reset();
    one.start();
    work(1);
    two.start();
    work(2);
    one.stop();
    work(4);
    one.start();
    work(8);
    two.stop();
    work(16);
    one.stop();
    if (!warm) continue;
    check(one, 1 + 2 + 8 + 16);
    check(two, 2 + 4 + 8);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// Where breakpoints are dead as well.
BOOST_AUTO_TEST_SUITE(event_classes)

using breakpoints::at;
using breakpoints::watched;

BOOST_AUTO_TEST_CASE(a_class_counts_if_and_only_if_known_occurrences_are_counted) {
  perf_event_attr attr = encode(at(&watched, "/8:w:u")).attr; // without the layer that refuses dead classes
  const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
  if (fd < 0) return test::skip(std::string("no breakpoint can be opened: ") + std::strerror(errno));
  for (int i = 0; i < 100; ++i)
    watched = 1;
  std::uint64_t counted = 0;
  const bool got = read(fd, &counted, sizeof counted) == sizeof counted;
  close(fd);
  const host::ClassState state = host::class_state(host::EventClass::breakpoint);
  BOOST_TEST(got);
  BOOST_TEST((state.state == host::ClassState::State::counts) == (counted == 100));
  BOOST_TEST((state.state == host::ClassState::State::dead) == (counted != 100));
  const std::string refused = message([] { Group group(std::vector<std::string>{at(&watched, "/8:w:u")}); });
  BOOST_TEST(holds(refused, "dead on this machine") == (counted != 100), refused);
}

BOOST_AUTO_TEST_CASE(no_class_counts_fewer_than_were_executed) {
  for (const auto one : host::event_classes) {
    const host::ClassState state = host::class_state(one);
    BOOST_TEST_CONTEXT(host::name_of(one)) {
      if (state.state == host::ClassState::State::missing) continue;
      BOOST_TEST(state.known > 0U);
      BOOST_TEST((state.counted >= state.known) == (state.state == host::ClassState::State::counts));
      BOOST_TEST(host::class_state(one).counted == state.counted); // once per process
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
