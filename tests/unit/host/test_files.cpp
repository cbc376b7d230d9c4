// Other machines' /sys, laid out in a temporary folder.
#include "base/host/disturbance.hpp"
#include "base/host/pmu.hpp"
#include "base/process/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

namespace {
/// A folder that vanishes with the object.
struct Tree {
  recount::process::TemporaryFolder folder{"recount"};
  std::filesystem::path root = folder.path();
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
};
} // namespace

BOOST_AUTO_TEST_CASE(a_pmu_is_read_with_its_formats_events_units_and_cpus) {
  const Tree t;
  t.put("cpu_atom/type", "10\n");
  t.put("cpu_atom/cpus", "4-7\n");
  t.put("cpu_atom/format/event", "config:0-7\n");
  t.put("cpu_atom/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3\n");
  t.put("cpu_atom/caps/max_precise", "3\n");
  t.put("power/type", "12\n");
  t.put("power/cpumask", "0\n");
  t.put("power/events/energy-pkg", "event=0x02\n");
  t.put("power/events/energy-pkg.unit", "Joules\n");
  t.put("power/events/energy-pkg.scale", "2.3e-10\n");
  const auto all = recount::host::pmus(t.root.string());
  BOOST_REQUIRE(all.size() == 2U);
  BOOST_TEST(all[0].name == "cpu_atom");
  BOOST_TEST(all[0].type == 10U);
  BOOST_TEST(all[0].core());
  BOOST_TEST(all[0].cpus == (std::vector{4, 5, 6, 7}), boost::test_tools::per_element());
  BOOST_TEST(all[0].formats.at("event") == "config:0-7");
  BOOST_TEST(all[0].events.at("mem-loads") == "event=0xd0,umask=0x5,ldlat=3");
  BOOST_TEST(all[0].caps.at("max_precise") == "3");
  BOOST_TEST(!all[1].core());
  BOOST_TEST(all[1].events.size() == 1U);
  BOOST_TEST(all[1].units.at("energy-pkg") == "Joules");
  BOOST_TEST(all[1].scales.at("energy-pkg") == "2.3e-10");
  BOOST_TEST(all[1].cpumask == std::vector{0}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(core_pmus_are_known_by_name) {
  for (const auto* name : {"cpu", "cpu_core", "armv8_pmuv3_0", "armv8_cortex_a57", "apple_firestorm_pmu"}) {
    recount::host::Pmu pmu;
    pmu.name = name;
    BOOST_TEST(pmu.core(), name);
  }
  for (const auto* name : {"software", "msr", "arm_dsu_0", "uncore_imc_0", "uprobe"}) {
    recount::host::Pmu pmu;
    pmu.name = name;
    BOOST_TEST(!pmu.core(), name);
  }
}

BOOST_AUTO_TEST_CASE(without_sysfs_there_are_no_pmus) {
  BOOST_TEST(recount::host::pmus("/no/such/folder").empty());
}

BOOST_AUTO_TEST_CASE(the_tightest_limit_on_the_way_up_holds) {
  const Tree t;
  t.put("memory.max", "max\n");
  t.put("a/memory.max", "1000000\n");
  t.put("a/memory.current", "400000\n");
  t.put("a/b/memory.max", "2000000\n");
  t.put("a/b/memory.current", "5\n");
  t.put("a/cpu.max", "150000 100000\n");
  t.put("a/b/cpu.max", "max 100000\n");
  t.put("a/b/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 42\n");
  const auto group = recount::host::cgroup(t.root.string(), "0::/a/b\n");
  BOOST_TEST(group.memory_limit.value() == 1'000'000);
  BOOST_TEST(group.memory_used.value() == 400'000);
  BOOST_TEST(group.cpus.value() == 1.5);
  BOOST_TEST(group.throttled_periods.value() == 3);
  BOOST_TEST(group.throttled_ns.value() == 42'000);
}

BOOST_AUTO_TEST_CASE(version_1_hierarchies_are_read_too) {
  const Tree t;
  t.put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  t.put("memory/x/memory.limit_in_bytes", "5000\n");
  t.put("memory/x/memory.usage_in_bytes", "1000\n");
  t.put("cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
  t.put("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  t.put("cpu,cpuacct/x/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 777\n");
  const auto group =
      recount::host::cgroup(t.root.string(), "4:memory:/x\n3:cpu,cpuacct:/x\n1:name=systemd:/x\n");
  BOOST_TEST(group.memory_limit.value() == 5000);
  BOOST_TEST(group.memory_used.value() == 1000);
  BOOST_TEST(group.cpus.value() == 0.5);
  BOOST_TEST(group.throttled_ns.value() == 777);
}

BOOST_AUTO_TEST_CASE(without_limits_there_is_no_value) {
  const Tree t;
  t.put("cpu/cpu.cfs_quota_us", "-1\n");
  t.put("cpu/cpu.cfs_period_us", "100000\n");
  t.put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  const auto group = recount::host::cgroup(t.root.string(), "4:memory:/gone\n3:cpu:/\n0::/\n");
  BOOST_TEST(!group.memory_limit.has_value());
  BOOST_TEST(!group.cpus.has_value());
  BOOST_TEST(!group.throttled_ns.has_value());
}
