// This machine: what must hold on any.
#include "base/host/disturbance.hpp"
#include "base/host/machine.hpp"
#include "base/host/sysctl.hpp"
#include "skip.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sched.h>
#include <unistd.h>

BOOST_AUTO_TEST_CASE(the_machine_is_described) {
  const auto& m = recount::host::this_machine();
  BOOST_TEST(m.cpus == ::sysconf(_SC_NPROCESSORS_ONLN));
  BOOST_TEST(m.page_size == ::sysconf(_SC_PAGESIZE));
  BOOST_TEST(!m.architecture.empty());
  BOOST_TEST(m.os.starts_with("Linux "));
  cpu_set_t mine;
  BOOST_REQUIRE(::sched_getaffinity(0, sizeof mine, &mine) == 0);
  BOOST_TEST(static_cast<int>(m.allowed_cpus.size()) == CPU_COUNT(&mine));
  for (const int cpu : m.allowed_cpus)
    BOOST_TEST(CPU_ISSET(static_cast<std::size_t>(cpu), &mine));
}

BOOST_AUTO_TEST_CASE(caches_grow_outwards_and_are_whole_sets) {
  const auto& m = recount::host::this_machine();
  if (!m.data_cache(1)) return recount::test::skip("hwloc states no first-level cache here");
  std::int64_t inner = 0;
  for (int level = 1; const recount::host::Cache* c = m.data_cache(level); ++level) {
    BOOST_TEST(c->size >= inner);
    inner = c->size;
    if (c->ways > 0 && c->line > 0) BOOST_TEST(c->size % (c->ways * c->line) == 0);
  }
}

BOOST_AUTO_TEST_CASE(caches_by_cpuid_are_whole_sets) { // and may differ from hwloc
  const int cpu = recount::host::this_machine().allowed_cpus.front();
  for (const recount::host::Cache& c : recount::host::caches_by_cpuid(cpu)) {
    BOOST_TEST(c.size > 0);
    if (c.ways > 0 && c.line > 0) BOOST_TEST(c.size % (c.ways * c.line) == 0);
  }
  BOOST_TEST(recount::host::caches_by_cpuid(100000).empty());
}

BOOST_AUTO_TEST_CASE(cache_names_tell_data_from_instructions) {
  BOOST_TEST((recount::host::Cache{.level = 1, .type = 'd'}).name() == "L1d");
  BOOST_TEST((recount::host::Cache{.level = 1, .type = 'i'}).name() == "L1i");
  BOOST_TEST((recount::host::Cache{.level = 2, .type = 'u'}).name() == "L2");
  BOOST_TEST(recount::host::read_caches(1 << 20).empty());
}

BOOST_AUTO_TEST_CASE(settings_are_read_by_their_names) {
  BOOST_TEST(recount::host::sysctl("kernel.ostype").value() == "Linux");
  BOOST_TEST(recount::host::show_setting("kernel.ostype") == "kernel.ostype = Linux");
  BOOST_TEST(recount::host::show_setting("kernel.no_such_thing") == "kernel.no_such_thing = (not there)");
}

BOOST_AUTO_TEST_CASE(memory_is_available_and_no_more_than_installed) {
  BOOST_TEST(recount::host::memory_available() > 0);
  BOOST_TEST(recount::host::memory_available() <= recount::host::this_machine().memory);
}

BOOST_AUTO_TEST_CASE(totals_never_fall) {
  const auto before = recount::host::disturbance(), after = recount::host::disturbance();
  BOOST_TEST(after.monotonic_ns > before.monotonic_ns);
  if (before.cpu == after.cpu && before.steal_ns && after.steal_ns)
    BOOST_TEST(*after.steal_ns >= *before.steal_ns);
  BOOST_TEST(after.involuntary_switches >= before.involuntary_switches);
}
