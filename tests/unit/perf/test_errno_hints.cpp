#include "count/perf/errno_hints.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <linux/hw_breakpoint.h>
#include <string>

using namespace recount;
using namespace recount::perf;

BOOST_AUTO_TEST_SUITE(errno_hints)

namespace {

bool holds(const Error& error, const std::string& part) {
  return std::string(error.what()).find(part) != std::string::npos;
}

Event event(std::uint32_t type = PERF_TYPE_SOFTWARE) {
  Event one;
  one.name = "some::EVENT";
  one.pmu = "some";
  one.attr.type = type;
  return one;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_errno_has_an_answer_without_conditions) {
  for (const int error : {EACCES, EPERM, ENOENT, EOPNOTSUPP, EINVAL, EMFILE, ENFILE, ENOSPC, EBUSY, ENODEV,
                          E2BIG, ESRCH, EOVERFLOW, ENOSYS, EINTR, EAGAIN}) {
    BOOST_TEST_CONTEXT(strerrorname_np(error)) {
      const auto rows = hints();
      BOOST_TEST(std::any_of(rows.begin(), rows.end(), [&](const Hint& row) {
        return row.number == error && row.operation == Operation::open && row.when == nullptr;
      }));
      const Error reported = hint({Operation::open, event()}, error);
      BOOST_TEST(holds(reported, "some::EVENT"));
      BOOST_TEST(holds(reported, strerrorname_np(error)));
      BOOST_TEST(!reported.problem().fix.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(no_row_is_out_of_reach) {
  // A row without a condition ends the search: none of the same errno and operation may follow.
  const auto rows = hints();
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      BOOST_TEST((rows[i].number != rows[j].number || rows[i].operation != rows[j].operation ||
                  rows[j].when != nullptr));
}

BOOST_AUTO_TEST_CASE(places_are_filled_in) {
  for (const Hint& row : hints()) {
    const Event one = event();
    const Error reported =
        hint({row.operation, one, {42, 7, false, false, false, false}, {"a", "b"}, true}, row.number);
    BOOST_TEST(!holds(reported, "{"));
  }
}

BOOST_AUTO_TEST_CASE(the_fix_fits_the_situation) {
  Event user = event();
  user.attr.exclude_kernel = 1;
  BOOST_TEST(holds(hint({Operation::open, event()}, EACCES), "append :u"));
  BOOST_TEST(!holds(hint({Operation::open, user}, EACCES), "append :u"));
  BOOST_TEST(holds(hint({Operation::open, user, {-1, 1, false, false, false, false}}, EACCES),
                   "all processes on CPU 1"));
  BOOST_TEST(
      holds(hint({Operation::open, user, {77, -1, false, false, false, false}}, EACCES), "process 77"));

  Event switches = event(); // counts 0 in user mode
  switches.attr.type = PERF_TYPE_SOFTWARE;
  switches.attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
  for (const pid_t pid : {0, 77}) {
    const Error reported = hint({Operation::open, switches, {pid, -1, false, false, false, false}}, EACCES);
    BOOST_TEST(reported.problem().fix.find(":u") == std::string::npos);
    if (pid == 0) BOOST_TEST(holds(reported, "in the kernel"));
  }

  const GroupOptions of_77{77, -1, false, false, false, false};
  BOOST_TEST(!holds(hint({Operation::open, user, of_77}, EACCES), ":u")); // it has that already
  BOOST_TEST(holds(hint({Operation::open, event(), of_77}, EACCES), "with :u"));
  BOOST_TEST(
      holds(hint({Operation::open, event(30), {}, {}, false, true, true}, EINVAL), "cannot count a process"));
  BOOST_TEST(!holds(hint({Operation::open, event(30), {-1, 0}, {}, false, true, true}, EINVAL), "a process"));
  BOOST_TEST(holds(hint({Operation::open, event(), {}, {"a", "b"}, true}, E2BIG), "group is too large"));
  BOOST_TEST(!holds(hint({Operation::open, event(), {}, {"a", "b"}, true}, E2BIG), "newer"));
  BOOST_TEST(
      holds(hint({Operation::open, event(), {}, {"a", "b"}, true}, EINVAL), "one event group with a, b"));
  BOOST_TEST(!holds(hint({Operation::open, event(), {}, {"a", "b"}, false}, EINVAL), "one event group"));

  Event watch = event(PERF_TYPE_BREAKPOINT);
  watch.attr.bp_type = HW_BREAKPOINT_R;
  BOOST_TEST(holds(hint({Operation::open, watch}, EINVAL), "rw instead of r"));
  BOOST_TEST(holds(hint({Operation::open, watch}, ENOSPC), "hardware breakpoints"));

  const Event cycles = event(PERF_TYPE_HARDWARE);
  BOOST_TEST(holds(hint({Operation::open, cycles, {}, {}, false, false}, ENOENT), "no core PMU"));
  BOOST_TEST(!holds(hint({Operation::open, cycles, {}, {}, false, true}, ENOENT), "no core PMU"));

  Event frequency = event();
  frequency.attr.freq = 1;
  BOOST_TEST(holds(hint({Operation::open, frequency}, EINVAL), "kernel.perf_event_max_sample_rate"));
  BOOST_TEST(holds(hint({Operation::map, event()}, EPERM), "kernel.perf_event_mlock_kb"));
}

BOOST_AUTO_TEST_CASE(kinds_decide_the_exit_status) {
  BOOST_TEST((hint({Operation::open, event()}, EACCES).kind() == ErrorKind::unavailable));
  BOOST_TEST((hint({Operation::open, event()}, EINVAL).kind() == ErrorKind::bad_input));
  BOOST_TEST((hint({Operation::open, event()}, ESRCH).kind() == ErrorKind::bad_input));
}

BOOST_AUTO_TEST_CASE(an_unheard_of_errno_keeps_the_systems_words) {
  BOOST_TEST(holds(hint({Operation::open, event()}, EXDEV), "EXDEV"));
  BOOST_TEST(holds(hint({Operation::open, event()}, EXDEV), "cross-device"));
}

BOOST_AUTO_TEST_CASE(a_setting_that_permits_it_is_not_the_cause) {
  // The highest levels at which Linux lets any user count (perf_event_paranoid in its documentation).
  Event user = event();
  user.attr.exclude_kernel = 1;
  const Event kernel = event();
  const GroupOptions own, everyone{-1, 1}, other{77, -1};
  struct Case {
    const Event& event;
    const GroupOptions& options;
    long long level;
    bool permitted;
  };
  for (const Case& c : {Case{user, own, 2, true}, Case{user, own, 3, false}, Case{kernel, own, 1, true},
                        Case{kernel, own, 2, false}, Case{user, everyone, 0, true},
                        Case{user, everyone, 1, false}, Case{user, other, -1, false}}) {
    const Error refused =
        hint({Operation::open, c.event, c.options, {}, false, true, false, c.level}, EACCES);
    const bool sysctl = refused.problem().fix.find("sysctl") != std::string::npos;
    BOOST_TEST(holds(refused, "seccomp filter") == c.permitted, refused.what());
    BOOST_TEST((!c.permitted || !sysctl), refused.what());
  }
}

BOOST_AUTO_TEST_SUITE_END()
