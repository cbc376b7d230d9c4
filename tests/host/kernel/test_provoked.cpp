// What Linux counts itself is counted here, raw, and held against the closed forms.
#include "base/host/machine.hpp"
#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "needs.hpp"
#include "skip.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>
#include <sched.h>

using namespace recount;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(provoked)

namespace {

struct Case {
  std::string kernel, metric;
  kernel::Params point;
  std::string counted_as; ///< where Linux counts in kernel mode only
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.kernel << " " << c.metric;
}
const std::vector<Case> cases = {
    {"faults", "perf::PAGE-FAULTS", {{"pages", std::int64_t{1}}}, {}},
    {"faults", "perf::PAGE-FAULTS", {{"pages", std::int64_t{1001}}}, {}},
    {"faults", "perf::MINOR-FAULTS", {{"pages", std::int64_t{300}}}, {}},
    {"faults", "perf::MAJOR-FAULTS", {{"pages", std::int64_t{300}}}, {}},
    {"switches", "perf::CONTEXT-SWITCHES", {{"sleeps", std::int64_t{50}}}, "perf::CONTEXT-SWITCHES:k"},
    {"migrations", "perf::CPU-MIGRATIONS", {{"moves", std::int64_t{101}}}, "perf::CPU-MIGRATIONS:k"},
    {"migrations", "perf::CONTEXT-SWITCHES", {{"moves", std::int64_t{50}}}, "perf::CONTEXT-SWITCHES:k"},
    {"cell", "mem:0x200000000000/8:w", {{"operation", std::string("store")}}, {}},
    {"cell", "mem:0x200000000000/8:rw", {{"operation", std::string("load")}}, {}},
    {"cell", "mem:0x200000000000/8:w", {{"operation", std::string("load")}}, {}}};

kernel::Expectation expectation(const Case& c) {
  const auto all = kernel::find(c.kernel).expected(c.point);
  const auto found = std::ranges::find(all, c.metric, &kernel::Expectation::metric);
  BOOST_REQUIRE((found != all.end()));
  return *found;
}

} // namespace

BOOST_DATA_TEST_CASE(counts_are_what_the_closed_form_says, data::make(cases), c) {
  if (c.metric.starts_with("mem:") && !test::no_breakpoints().empty())
    return test::skip(c.kernel + " " + c.metric + ": " + test::no_breakpoints());
  try {
    const auto expected = expectation(c);
    const auto instance = kernel::find(c.kernel).prepare(c.point);
    const kernel::Region region = instance->region();
    Group group(std::vector<std::string>{c.counted_as.empty() ? c.metric : c.counted_as});
    region(); // warm-up, as a sweep does
    for (int i = 0; i < 3; ++i) {
      group.reset();
      group.start();
      region();
      group.stop();
      const auto value = static_cast<double>(group.read()[0].value.value());
      BOOST_TEST(value >= expected.value - expected.below, value << " is less than " << expected.form);
      BOOST_TEST(value <= expected.value + expected.above, value << " is more than " << expected.form);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    test::skip(error.what());
  }
}

BOOST_AUTO_TEST_CASE(affinity_is_given_back) {
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  try {
    const auto instance = kernel::find("migrations").prepare({{"moves", std::int64_t{3}}});
    instance->region()();
  } catch (const Error& error) {
    return test::skip(error.what());
  }
  sched_getaffinity(0, sizeof after, &after);
  BOOST_TEST(CPU_EQUAL(&before, &after));
}

namespace {
/// Interrupts of one kind so far, over all CPUs; 0 where /proc/interrupts does not tell.
long long interrupts(const std::string& kind) {
  const auto text = base::read_file("/proc/interrupts").value_or("");
  long long sum = 0;
  for (const auto line : base::split(text, '\n')) {
    const auto at = line.find(kind + ":");
    if (at == line.npos) continue;
    for (const auto word : base::split(line.substr(at + kind.size() + 1), ' '))
      if (!word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; }))
        sum += std::stoll(std::string(word));
  }
  return sum;
}
} // namespace

BOOST_AUTO_TEST_CASE(each_round_of_shootdowns_is_an_interrupt_of_the_other_cpu) {
  if (interrupts("TLB") == 0) return test::skip("/proc/interrupts counts no TLB shootdowns here");
  try {
    constexpr std::int64_t rounds = 2000;
    const auto instance = kernel::find("shootdowns").prepare({{"rounds", rounds}});
    long long most = 0;
    for (int i = 0; i < 20 && most < rounds; ++i) {
      const long long before = interrupts("TLB");
      instance->region()();
      most = std::max(most, interrupts("TLB") - before);
    }
    // A hypervisor that knows that it has taken the other CPU away flushes for it, silently.
    if (most < rounds && host::this_machine().virtualised())
      return test::skip("the hypervisor flushes TLBs of CPUs that it has taken away");
    BOOST_TEST(most >= rounds);
  } catch (const Error& error) {
    test::skip(error.what());
  }
}

BOOST_AUTO_TEST_CASE(rounds_with_another_cpu_end) {
  try {
    for (const std::int64_t rounds : {1, 1000, 20000}) {
      const auto instance = kernel::find("sharing").prepare({{"rounds", rounds}});
      for (int i = 0; i < 3; ++i)
        instance->region()();
      BOOST_TEST(instance->accesses() == rounds);
    }
  } catch (const Error& error) {
    test::skip(error.what());
  }
}

BOOST_AUTO_TEST_CASE(a_timer_interrupts_as_often_as_asked) {
  const long long before = interrupts("LOC");
  if (before == 0) return test::skip("/proc/interrupts counts no local timer interrupts here");
  const auto instance = kernel::find("interrupts").prepare({{"signals", std::int64_t{50}}});
  instance->region()();
  BOOST_TEST(interrupts("LOC") - before >= 50);
}

BOOST_AUTO_TEST_SUITE_END()
