// The kernels with known counts execute exactly the instructions that they state, by the guest's PMU.
#include "loop.hpp"

#include "kernel/kernel.hpp"
#include "skip.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

using namespace recount;
using namespace recount::test;

namespace {

[[gnu::noipa]] void nothing(void* /*context*/) {}

/// Instructions of user mode between start and stop around a call of the region.
[[gnu::noipa]] std::uint64_t counted(Group& group, const kernel::Region& region) {
  group.reset();
  group.start();
  region();
  group.stop();
  return group.read()[0].value.value();
}

/// The default point, and for each parameter with choices every other choice, for each with bounds two other
/// numbers.
std::vector<kernel::Params> points(const kernel::Kernel& kernel) {
  std::vector<kernel::Params> all{{}};
  for (const kernel::Parameter& parameter : kernel.parameters()) {
    using Unit = kernel::Parameter::Unit;
    for (const std::string& choice : parameter.choices)
      all.push_back({{parameter.name, choice}});
    const auto* number = std::get_if<std::int64_t>(&parameter.fallback);
    if (parameter.unit == Unit::choice || parameter.unit == Unit::text || number == nullptr) continue;
    for (const std::int64_t other : {*number / 2, *number * 2})
      all.push_back({{parameter.name, other}});
  }
  return all;
}

/// The metric's count where it is known to the last one.
std::optional<double> exact(const kernel::Kernel& kernel, const kernel::Params& point,
                            const std::string& metric) {
  for (const auto& known : kernel.expected(point))
    if (known.metric == metric && known.below == 0 && known.above == 0) return known.value;
  return {};
}

struct Verified {
  std::set<std::string> kernels;
  int points = 0;
  std::set<std::string> refused;
};

void verify(Group& group, const kernel::Kernel& kernel, Verified& verified) {
  // An empty region executes its return.
  const kernel::Region empty{nothing, nullptr};
  counted(group, empty);
  const auto own = static_cast<double>(counted(group, empty)) - 1;
  for (const auto& some : points(kernel)) {
    try {
      const auto point = kernel::complete(kernel, some);
      const auto expected = exact(kernel, point, "PAPI_TOT_INS");
      if (!expected) continue;
      const auto instance = kernel.prepare(point);
      instance->warm();
      const auto count = static_cast<double>(counted(group, instance->region())) - own;
      BOOST_TEST_INFO_SCOPE(kernel.name() << " " << (some.empty() ? "" : some.begin()->first));
      BOOST_TEST(count == *expected);
      verified.kernels.insert(kernel.name());
      ++verified.points;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) verified.refused.insert(error.problem().cause);
    }
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(every_closed_form_of_instructions_is_exact) {
  Group group({"perf::INSTRUCTIONS"}, Domain::user);
  Verified verified;
  for (const kernel::Kernel* kernel : kernel::all())
    verify(group, *kernel, verified);
  std::string names;
  for (const auto& name : verified.kernels)
    names += " " + name;
  BOOST_TEST_MESSAGE(verified.points << " points of" << names);
  for (const auto& refused : verified.refused)
    BOOST_TEST_MESSAGE("not here: " << refused);
  BOOST_TEST(verified.kernels.size() >= 6U);
  BOOST_TEST(verified.points >= 50);
}

BOOST_AUTO_TEST_SUITE_END()
