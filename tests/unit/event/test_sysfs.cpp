#include "count/event/sysfs.hpp"
#include "tree.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;
using event::encode_sysfs;

namespace {

struct Amd : SysfsTree {
  Amd() {
    file("cpu/type", "4")
        .file("cpu/format/event", "config:0-7,32-35")
        .file("cpu/format/umask", "config:8-15");
    file("cpu/format/inv", "config:23").file("cpu/format/cmask", "config:24-31");
    file("cpu/events/cpu-cycles", "event=0x76").file("cpu/events/odd", "event=0x1ff,umask=0x2,inv");
    file("msr/type", "9").file("msr/format/event", "config:0-63").file("msr/events/tsc", "event=0x00");
    file("power/type", "20").file("power/format/event", "config:0-7").file("power/cpumask", "0");
    file("power/events/energy-pkg", "event=0x02").file("power/events/energy-pkg.unit", "Joules");
    file("power/events/core-joules", "event=0x03,umask=0x1,config1=?");
  }
  [[nodiscard]] Event operator()(const std::string& name, Domain fallback = Domain::all) const {
    return encode_sysfs(name, fallback, pmus());
  }
};

std::string message(const Amd& tree, const std::string& name) {
  try {
    (void)tree(name);
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::bad_input));
    return error.what();
  }
  return "no error";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(sysfs, Amd)

BOOST_AUTO_TEST_CASE(notation) {
  BOOST_TEST(event::in_sysfs_notation("msr/tsc/"));
  BOOST_TEST(event::in_sysfs_notation("cpu/event=0x3c,umask=0x0/u"));
  BOOST_TEST(!event::in_sysfs_notation("mem:0x10/4:rw"));
  BOOST_TEST(!event::in_sysfs_notation("skl::L1D:REPLACEMENT"));
  BOOST_TEST(!event::in_sysfs_notation("/tsc/"));
}

BOOST_AUTO_TEST_CASE(terms_with_values) {
  const Event event = (*this)("cpu/event=0x1d0,umask=7,inv,cmask=0x10/");
  BOOST_TEST(event.attr.type == 4U);
  BOOST_TEST(event.attr.config == 0x1108007d0ULL);
  BOOST_TEST(event.pmu == "cpu");
  BOOST_TEST(event.attr.size == sizeof(perf_event_attr));
}

BOOST_AUTO_TEST_CASE(named_events_and_terms_over_them) {
  BOOST_TEST((*this)("cpu/cpu-cycles/").attr.config == 0x76U);
  BOOST_TEST((*this)("cpu/odd/").attr.config == 0x1008002ffULL);
  BOOST_TEST((*this)("cpu/odd,umask=0x5/").attr.config == 0x1008005ffULL);
  BOOST_TEST((*this)("cpu/config=0xabcd,config1=0x1,config2=2/").attr.config == 0xabcdU);
  BOOST_TEST((*this)("cpu/config=0xabcd,config1=0x1,config2=2/").attr.config2 == 2U);
}

BOOST_AUTO_TEST_CASE(domains) {
  BOOST_TEST((domain((*this)("cpu/cpu-cycles/:u")) == Domain::user));
  BOOST_TEST((domain((*this)("cpu/cpu-cycles/k")) == Domain::kernel));
  BOOST_TEST((domain((*this)("cpu/cpu-cycles/:uk", Domain::user)) == Domain::all));
  const Event fallback = (*this)("cpu/cpu-cycles/", Domain::user);
  BOOST_TEST((domain(fallback) == Domain::user));
  BOOST_TEST(!fallback.domain_given);
  BOOST_TEST((*this)("cpu/cpu-cycles/:u").domain_given);
}

BOOST_AUTO_TEST_CASE(a_pmu_without_domains_ignores_the_fallback_but_not_the_user) {
  const Event quiet = (*this)("msr/tsc/", Domain::user);
  BOOST_TEST((domain(quiet) == Domain::all));
  BOOST_TEST(quiet.attr.exclude_hv == 0U);
  BOOST_TEST(quiet.attr.exclude_guest == 0U);
  BOOST_TEST((domain((*this)("msr/tsc/:u")) == Domain::user));
  BOOST_TEST((domain((*this)("power/energy-pkg/", Domain::kernel)) == Domain::all));
}

BOOST_AUTO_TEST_CASE(errors_name_what_is_near) {
  BOOST_TEST(holds(message(*this, "cpu/cpu-cycels/"), "did you mean cpu-cycles?"));
  BOOST_TEST(holds(message(*this, "cpu/umsk=1/"), "umask"));
  BOOST_TEST(holds(message(*this, "mrs/tsc/"), "did you mean msr?"));
  BOOST_TEST(holds(message(*this, "nothing-like-it/tsc/"), "this kernel has cpu, msr, power"));
  BOOST_TEST(holds(message(*this, "cpu/event=0x1000/"), "does not fit into 12 bits"));
  BOOST_TEST(holds(message(*this, "cpu/event=zero/"), "is not a number"));
  BOOST_TEST(holds(message(*this, "cpu/cpu-cycles/x"), "no such modifier"));
}

BOOST_AUTO_TEST_CASE(an_event_with_a_parameter_needs_it) {
  file("power/format/umask", "config:8-15");
  BOOST_TEST(holds(message(*this, "power/core-joules/"), "needs a value for config1"));
  BOOST_TEST((*this)("power/core-joules,config1=7/").attr.config1 == 7U);
  BOOST_TEST((*this)("power/config1=7,core-joules/").attr.config1 == 7U);
  BOOST_TEST(holds(message(*this, "power/core-joules,config1=?/"), "\"?\" is not a number"));
  file("power/format/id", "config1:0-7").file("power/format/thread_id", "config2:0-7");
  file("power/events/thread", "event=0x04,id=?,thread_id=?");
  BOOST_TEST(holds(message(*this, "power/thread,thread_id=3/"), "needs a value for id"));
}

BOOST_AUTO_TEST_CASE(events_of_a_core_pmu_elsewhere) {
  // AMD has no PEBS, whose events perf(1) calls so.
  for (const char* const name : {"cpu/mem-loads,ldlat=30/", "cpu/mem-stores/", "cpu/cpu-cycles,ldlat=3/"})
    BOOST_TEST(holds(message(*this, name), "AMD: sample ibs_op//"), message(*this, name));
  BOOST_TEST(holds(message(*this, "cpu_core/mem-loads,ldlat=30/"), "did you mean cpu/mem-loads,ldlat=30/"),
             message(*this, "cpu_core/mem-loads,ldlat=30/"));
}

BOOST_AUTO_TEST_CASE(without_a_core_pmu_the_machine_is_the_cause) {
  const SysfsTree none;
  BOOST_CHECK_EXCEPTION((void)encode_sysfs("cpu/mem-loads,ldlat=30/", Domain::all, none.pmus()), Error,
                        [](const Error& error) {
                          return error.kind() == ErrorKind::unavailable &&
                                 holds(error.what(), "no PMU \"cpu\" or other core PMU");
                        });
}

BOOST_AUTO_TEST_SUITE_END()
