// Starting, stopping and reading allocate nothing.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/group.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <new>

#if !defined(__SANITIZE_ADDRESS__) // which brings operators of its own
namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Inlined, they look to g++ as if they did not belong together.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif

BOOST_AUTO_TEST_SUITE(cost, *recount::test::needs(recount::test::no_software_events))

BOOST_AUTO_TEST_CASE(nothing_is_allocated_while_counting) {
#if defined(__SANITIZE_ADDRESS__)
  return skip("AddressSanitizer replaces the allocator that this case would count in");
#else
  recount::Counters counters({"perf::PAGE-FAULTS", "perf::MINOR-FAULTS", "perf::TASK-CLOCK"});
  recount::Group group({"perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES"});
  const auto before = allocations.load();
  std::uint64_t sum = 0;
  for (int i = 0; i < 10; ++i) {
    counters.start();
    group.start();
    counters.reset();
    group.reset();
    group.stop();
    counters.stop();
    sum += counters.read()[2].value.value() + group.read()[0].value.value();
  }
  const auto after = allocations.load();
  BOOST_TEST(after == before);
  BOOST_TEST(sum > 0U);
  BOOST_TEST(before > 0U); // the counting of allocations itself works
#endif
}

BOOST_AUTO_TEST_SUITE_END()
