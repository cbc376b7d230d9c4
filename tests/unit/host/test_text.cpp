// Small texts of /proc and /sys.
#include "base/host/machine.hpp"
#include "base/host/sysctl.hpp"
#include "base/text.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(cpu_lists_are_read_as_the_kernel_writes_them) {
  BOOST_TEST(recount::base::parse_cpu_list("0-3,8\n") == (std::vector{0, 1, 2, 3, 8}),
             boost::test_tools::per_element());
  BOOST_TEST(recount::base::parse_cpu_list("5") == std::vector{5}, boost::test_tools::per_element());
  BOOST_TEST(recount::base::parse_cpu_list("").empty());
  BOOST_TEST(recount::base::parse_cpu_list("3-1").empty());
  BOOST_TEST(recount::base::parse_cpu_list("a-b").empty());
  BOOST_TEST(recount::base::parse_cpu_list("0-9999999999").empty());
}

BOOST_AUTO_TEST_CASE(trim_takes_device_tree_zeros_too) {
  BOOST_TEST(recount::base::trim(std::string_view(" a b\n\0", 6)) == "a b");
  BOOST_TEST(recount::base::trim("  ").empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_nothing) {
  BOOST_TEST(!recount::base::read_number("/proc/version").has_value());
  BOOST_TEST(!recount::base::read_number("/no/such/file").has_value());
  BOOST_TEST(recount::base::read_number("/proc/sys/kernel/pid_max").value() > 0);
}

BOOST_AUTO_TEST_CASE(an_intel_cpu_is_identified) {
  const auto cpu = recount::host::parse_cpuinfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 158\n"
      "model name\t: Intel(R) Core(TM) i7-9700 CPU @ 3.00GHz\nstepping\t: 13\n"
      "flags\t\t: fpu vme ss ht\n\nprocessor\t: 1\nmodel\t\t: 99\n");
  BOOST_TEST(cpu.name == "Intel(R) Core(TM) i7-9700 CPU @ 3.00GHz");
  BOOST_TEST(cpu.identity() == "GenuineIntel-6-158-13");
  BOOST_TEST(!cpu.hypervisor);
}

BOOST_AUTO_TEST_CASE(the_hypervisor_flag_is_a_whole_word) {
  BOOST_TEST(recount::host::parse_cpuinfo("model name : x\nflags : sse hypervisor lahf_lm\n").hypervisor);
  BOOST_TEST(!recount::host::parse_cpuinfo("model name : x\nflags : sse nohypervisor\n").hypervisor);
}

BOOST_AUTO_TEST_CASE(an_arm_cpu_is_identified_by_implementer_and_part) {
  const auto cpu = recount::host::parse_cpuinfo(
      "processor\t: 0\nBogoMIPS\t: 125.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
      "CPU variant\t: 0x1\nCPU part\t: 0xd07\nCPU revision\t: 2\n\nprocessor\t: 1\n");
  BOOST_TEST(cpu.identity() == "0x41-8-3335-2");
  BOOST_TEST(cpu.name == "Arm Cortex-A57");
  BOOST_TEST(recount::host::parse_cpuinfo("CPU implementer : 0x41\nCPU part : 0x123\n").name ==
             "Arm implementer 0x41 part 0x123");
}

BOOST_AUTO_TEST_CASE(capabilities_and_seccomp_are_read_from_the_status) {
  recount::host::Permission p;
  recount::host::parse_status("Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t0000004000000000\nSeccomp:\t2\n",
                              p);
  BOOST_TEST(p.cap_perfmon);
  BOOST_TEST(!p.cap_sys_admin);
  BOOST_TEST(p.seccomp == 2);
}
BOOST_AUTO_TEST_CASE(a_container_has_namespaces_of_its_own) {
  using recount::host::container_name;
  BOOST_TEST(container_name({"", true, false, true}) == "docker");
  BOOST_TEST(container_name({"", false, true, true}) == "podman");
  BOOST_TEST(container_name({"lxc", true, false, true}) == "lxc");
  BOOST_TEST(container_name({"", false, false, true}).empty());
  // A virtual machine made from an image of a container.
  BOOST_TEST(container_name({"", true, false, false}).empty());
  BOOST_TEST(container_name({"docker", false, true, false}).empty());
}
