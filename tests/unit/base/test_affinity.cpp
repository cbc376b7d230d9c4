// The CPUs of a thread: restricted, and put back.
#include "base/affinity.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>

BOOST_AUTO_TEST_SUITE(affinity)

namespace {

cpu_set_t cpus_now() {
  cpu_set_t now;
  BOOST_TEST_REQUIRE(sched_getaffinity(0, sizeof now, &now) == 0);
  return now;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_it_restricts_is_put_back) {
  const cpu_set_t before = cpus_now();
  int first = 0;
  while (!CPU_ISSET(static_cast<unsigned>(first), &before))
    ++first;
  {
    const recount::base::Affinity restricted({-1, first, CPU_SETSIZE});
    BOOST_TEST(restricted.restricted());
    BOOST_TEST(restricted.has(first));
    const cpu_set_t now = cpus_now();
    BOOST_TEST(CPU_COUNT(&now) == 1);
    BOOST_TEST(CPU_ISSET(static_cast<unsigned>(first), &now));
  }
  const cpu_set_t after = cpus_now();
  BOOST_TEST(CPU_EQUAL(&before, &after));
}

BOOST_AUTO_TEST_CASE(no_cpu_of_a_list_changes_nothing) {
  const cpu_set_t before = cpus_now();
  const recount::base::Affinity none({-1, CPU_SETSIZE});
  BOOST_TEST(!none.restricted());
  BOOST_TEST(!none.has(-1));
  BOOST_TEST(!recount::base::pin_to(-1));
  BOOST_TEST(errno == EINVAL);
  const cpu_set_t after = cpus_now();
  BOOST_TEST(CPU_EQUAL(&before, &after));
}

BOOST_AUTO_TEST_SUITE_END()
