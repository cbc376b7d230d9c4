// Every errno that can be provoked here, and what the user is told about it.
#include "base/host/sysctl.hpp"
#include "count/perf/errno_hints.hpp"
#include "count/perf/try_open.hpp"
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/group.hpp>
#include <recount/sampling.hpp>

#include <fmt/core.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <functional>
#include <grp.h>
#include <sys/resource.h>

using namespace recount;

BOOST_AUTO_TEST_SUITE(errnos, *test::needs(test::no_software_events))

namespace {

alignas(8) volatile std::uint64_t watched[8];

std::string watch(std::size_t i, const std::string& rest = "/8:w") {
  return fmt::format("mem:{:#x}{}", reinterpret_cast<std::uintptr_t>(&watched[i]), rest);
}

std::string opening(const std::vector<std::string>& names, const GroupOptions& options = {}) {
  return message([&] { Group group(names, Domain::all, options); });
}

std::string opening_event(const Event& event) {
  return message([&] { Group group(std::vector<Event>{event}); });
}

/// As somebody without capabilities. Empty when this process cannot become such a user.
std::string as_nobody(const std::function<std::string()>& body) {
  return in_child([&]() -> std::string {
    constexpr unsigned nobody = 65534;
    if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0))
      return "skip: cannot become an unprivileged user";
    return body();
  });
}

long long paranoid() {
  return host::sysctl_number("kernel.perf_event_paranoid").value_or(-1);
}

std::string paranoid_line() {
  return fmt::format("kernel.perf_event_paranoid = {} (", paranoid());
}

} // namespace

BOOST_AUTO_TEST_CASE(eacces_in_the_kernel) {
  if (paranoid() < 2) return skip("kernel.perf_event_paranoid is below 2: everybody may count in the kernel");
  const std::string reported = as_nobody([] { return opening({"perf::PAGE-FAULTS"}); });
  if (holds(reported, "skip:")) return skip(reported);
  BOOST_TEST(holds(reported, "perf::PAGE-FAULTS"));
  BOOST_TEST(holds(reported, "EACCES"));
  BOOST_TEST(holds(reported, paranoid_line())); // the value as it is now
  BOOST_TEST(holds(reported, "append :u"));
  BOOST_TEST(holds(reported, "sysctl -w kernel.perf_event_paranoid=1"));
  BOOST_TEST(holds(reported, "setcap cap_perfmon+ep"));
}

BOOST_AUTO_TEST_CASE(what_the_fix_says_works) {
  const std::string reported = as_nobody([] { return "opened" + opening({"perf::PAGE-FAULTS:u"}); });
  if (reported != "opened" && paranoid() > 2) return skip("this kernel forbids all counting: " + reported);
  if (holds(reported, "skip:")) return skip(reported);
  BOOST_TEST(reported == "opened");
}

BOOST_AUTO_TEST_CASE(eacces_on_a_whole_cpu) {
  if (paranoid() < 1) return skip("kernel.perf_event_paranoid is below 1: everybody may count a CPU");
  const std::string reported = as_nobody([] {
    GroupOptions options;
    options.pid = -1;
    options.cpu = 0;
    return opening({"perf::PAGE-FAULTS:u"}, options);
  });
  if (holds(reported, "skip:")) return skip(reported);
  BOOST_TEST(holds(reported, "all processes on CPU 0"));
  BOOST_TEST(holds(reported, "kernel.perf_event_paranoid=0"));
}

BOOST_AUTO_TEST_CASE(eacces_on_the_process_of_another_user) {
  const pid_t other = getpid();
  if (geteuid() != 0) return skip("not root: no process of another user at hand");
  const std::string reported = as_nobody([&] {
    GroupOptions options;
    options.pid = other;
    return opening({"perf::PAGE-FAULTS:u"}, options);
  });
  if (holds(reported, "skip:")) return skip(reported);
  BOOST_TEST(holds(reported, fmt::format("may not observe process {}", other)));
  BOOST_TEST(holds(reported, "CAP_PERFMON"));
}

BOOST_AUTO_TEST_CASE(enoent) {
  const std::string reported = opening({"perf::CYCLES"});
  if (reported.empty()) {
    skip("this machine has a core PMU");
  } else {
    BOOST_TEST(holds(reported, "no core PMU"));
    BOOST_TEST(holds(reported, "ENOENT"));
    BOOST_TEST(holds(reported, "/sys/bus/event_source/devices contains"));
    BOOST_TEST(holds(reported, "software"));
    BOOST_TEST(holds(reported, "recount events --pmu perf"));
  }
  Event nowhere = encode("perf::PAGE-FAULTS");
  nowhere.attr.type = 0x7ffffffe;
  BOOST_TEST(holds(opening_event(nowhere), "there is no such PMU (ENOENT)"));
  BOOST_TEST(holds(opening_event(nowhere), "recount events lists"));
}

BOOST_AUTO_TEST_CASE(an_event_of_another_machine_is_not_even_tried) {
  Event foreign = encode("perf::PAGE-FAULTS"); // would open
  foreign.present = false;
  foreign.pmu = "elsewhere";
  BOOST_TEST(holds(opening_event(foreign), "elsewhere is not a PMU of this machine"));
  BOOST_TEST(holds(message([&] { Counters counters(std::vector<Event>{foreign}); }), "elsewhere"));
}

BOOST_AUTO_TEST_CASE(einval_of_a_domain) {
  const std::string plain = message([] { Group group(std::vector<std::string>{"msr/tsc/"}); });
  if (!plain.empty()) return skip(plain);
  const std::string reported = opening({"msr/tsc/:u"});
  BOOST_TEST(holds(reported, "cannot count user and kernel mode separately (EINVAL)"));
  BOOST_TEST(holds(reported, ":u or :k"));
}

BOOST_AUTO_TEST_CASE(einval_of_a_cpu) {
  GroupOptions options;
  options.cpu = 100'000;
  const std::string reported = opening({"perf::PAGE-FAULTS"}, options);
  BOOST_TEST(holds(reported, "CPU 100000 is not online"));
  const bool listed = ::access("/sys/devices/system/cpu/online", R_OK) == 0;
  BOOST_TEST(holds(reported, listed ? "CPUs online = 0" : "CPUs online = unknown"));
}

BOOST_AUTO_TEST_CASE(einval_of_breakpoints) {
  if (const auto reason = opening({watch(0)}); !reason.empty()) return skip(reason);
#if defined(__x86_64__)
  BOOST_TEST(holds(opening({watch(0, "/8:r")}), "rw instead of r"));
  BOOST_TEST(holds(opening({watch(0, "/2:x")}), "use the size of a long"));
  const std::string odd = fmt::format("mem:{:#x}/4:w", reinterpret_cast<std::uintptr_t>(&watched[0]) + 1);
  BOOST_TEST(holds(opening({odd}), "align the address"));
#endif
}

BOOST_AUTO_TEST_CASE(einval_of_a_frequency) {
  const SampledEvent clock{encode("perf::CPU-CLOCK"), 0, 2'000'000'000};
  const std::string reported = message([&] { Sampling sampling({clock}); });
  BOOST_TEST(holds(reported, "kernel.perf_event_max_sample_rate = "));
  BOOST_TEST(holds(reported, "lower frequency"));
}

BOOST_AUTO_TEST_CASE(enospc_of_breakpoints) {
  if (const auto reason = opening({watch(0)}); !reason.empty()) return skip(reason);
#if defined(__x86_64__)
  const std::string reported = opening({watch(0), watch(1), watch(2), watch(3), watch(4)});
  BOOST_TEST(holds(reported, watch(4))); // the fifth is named
  BOOST_TEST(holds(reported, "all hardware breakpoints are in use (ENOSPC)"));
  BOOST_TEST(holds(reported, "debug registers of an x86 CPU = 4"));
  BOOST_TEST(holds(reported, "fewer addresses"));
#endif
}

BOOST_AUTO_TEST_CASE(emfile) {
  const std::string reported = in_child([] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max = 12;
    setrlimit(RLIMIT_NOFILE, &limit);
    return opening(std::vector<std::string>(20, "perf::PAGE-FAULTS:u"));
  });
  BOOST_TEST(holds(reported, "EMFILE"));
  BOOST_TEST(holds(reported, "ulimit -n = 12"));
  BOOST_TEST(holds(reported, "ulimit -Hn 65536"));
}

BOOST_AUTO_TEST_CASE(the_soft_limit_of_descriptors_is_raised) {
  const std::string reported = in_child([] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 12;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::string error = opening({"perf::PAGE-FAULTS:u"});
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur != 12) error += "raised although descriptors are left";
    return error + opening(std::vector<std::string>(20, "perf::PAGE-FAULTS:u"));
  });
  BOOST_TEST(reported == "");
}

BOOST_AUTO_TEST_CASE(eopnotsupp) {
  Event branches = encode("perf::PAGE-FAULTS");
  branches.attr.sample_period = 1;
  branches.attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
  branches.attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
  const std::string reported = opening_event(branches);
  BOOST_TEST(holds(reported, "cannot sample this event"));
  BOOST_TEST(holds(reported, "EOPNOTSUPP"));
  BOOST_TEST(holds(reported, "count it instead of sampling"));
}

BOOST_AUTO_TEST_CASE(esrch) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  GroupOptions options;
  options.pid = child;
  BOOST_TEST(holds(opening({"perf::PAGE-FAULTS"}, options), fmt::format("process {} has ended", child)));
  BOOST_TEST(holds(opening({"perf::PAGE-FAULTS"}, options), "start it stopped"));
}

BOOST_AUTO_TEST_CASE(e2big) {
  // A field from the future: beyond this kernel's structure, and not zero.
  const Event faults = encode("perf::PAGE-FAULTS");
  alignas(8) std::array<char, 1024> future{};
  std::memcpy(future.data(), &faults.attr, sizeof faults.attr);
  auto* attr = reinterpret_cast<perf_event_attr*>(future.data());
  attr->size = future.size();
  future.back() = 1;
  BOOST_TEST(perf::open_call(attr, 0, -1, -1, 0) == -1);
  BOOST_TEST(errno == E2BIG);
  BOOST_TEST(holds(perf::open_error(faults, E2BIG).what(), "newer than this kernel"));
}

BOOST_AUTO_TEST_CASE(a_size_that_the_kernel_does_not_take_is_mended) {
  Event faults = encode("perf::PAGE-FAULTS");
  faults.attr.size = 8; // older than any kernel: E2BIG, and the right size is written back
  BOOST_TEST(opening_event(faults).empty());
}

BOOST_AUTO_TEST_CASE(eoverflow) {
  Event deep = encode("perf::PAGE-FAULTS");
  deep.attr.sample_period = 1;
  deep.attr.sample_type = PERF_SAMPLE_CALLCHAIN;
  deep.attr.sample_max_stack = 65'000;
  const std::string reported = opening_event(deep);
  BOOST_TEST(holds(reported, "EOVERFLOW"));
  BOOST_TEST(holds(reported, "kernel.perf_event_max_stack = "));
}

BOOST_AUTO_TEST_CASE(eperm_of_a_buffer) {
  const std::string reported = as_nobody([]() -> std::string {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    Event clock = encode("perf::CPU-CLOCK:u");
    clock.attr.sample_period = 100'000;
    Group group(std::vector<Event>{clock});
    const std::size_t page = FreshPages::size();
    if (mmap(nullptr, page * (1 + 16384), PROT_READ | PROT_WRITE, MAP_SHARED, group.fd(), 0) != MAP_FAILED)
      return "mapped";
    return perf::call_error(perf::Operation::map, group.events()[0], errno, "mmap").what();
  });
  if (holds(reported, "skip:") || holds(reported, "EACCES")) return skip(reported);
  BOOST_TEST(holds(reported, "EPERM"));
  BOOST_TEST(holds(reported, "kernel.perf_event_mlock_kb = "));
  BOOST_TEST(holds(reported, "a smaller buffer"));
}

BOOST_AUTO_TEST_SUITE_END()
