// Stepping down to what an older kernel accepts, with kernels made of functions.
#include "count/perf/try_open.hpp"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <fcntl.h>
#include <vector>

using namespace recount::perf;

BOOST_AUTO_TEST_SUITE(try_open)

namespace {

std::vector<perf_event_attr> seen;

int some_fd() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int fail(int error) {
  errno = error;
  return -1;
}

perf_event_attr attr(std::uint32_t size = sizeof(perf_event_attr)) {
  seen.clear();
  perf_event_attr value{};
  value.size = size;
  value.type = PERF_TYPE_SOFTWARE;
  return value;
}

/// Knows 112 bytes of perf_event_attr.
int small(perf_event_attr* a, pid_t, int, int, unsigned long) {
  seen.push_back(*a);
  if (a->size <= PERF_ATTR_SIZE_VER5) return some_fd();
  a->size = PERF_ATTR_SIZE_VER5;
  return fail(E2BIG);
}

int forbids(perf_event_attr* a, pid_t, int, int, unsigned long) {
  seen.push_back(*a);
  return fail(EACCES);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_size_written_back_is_taken) {
  const Attempt attempt = open_sized(attr(), {}, small);
  BOOST_TEST(static_cast<bool>(attempt.fd));
  BOOST_TEST(attempt.attr.size == unsigned{PERF_ATTR_SIZE_VER5});
  BOOST_TEST(seen.size() == 2U);
}

BOOST_AUTO_TEST_CASE(nothing_asked_for_is_cut_off) {
  perf_event_attr wanted = attr();
  wanted.sig_data = 1; // lies beyond 112 bytes
  const Attempt attempt = open_sized(wanted, {}, small);
  BOOST_TEST(!attempt.fd);
  BOOST_TEST(attempt.error == E2BIG);
  BOOST_TEST(seen.size() == 1U);
}

BOOST_AUTO_TEST_CASE(other_errors_are_not_retried) {
  BOOST_TEST(open_sized(attr(), {}, forbids).error == EACCES);
  BOOST_TEST(seen.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
