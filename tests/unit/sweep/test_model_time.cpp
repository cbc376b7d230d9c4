// How long the simulation of a point is announced to take.
#include "kernel/kernel.hpp"
#include "run/sweep_plan.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(model_time)

BOOST_AUTO_TEST_CASE(every_simulated_kernel_has_a_time) {
  const auto seconds = [](const std::string& name, const result::Params& point, const std::string& witness) {
    return sweep::model_seconds(
        {{name, kernel::complete(kernel::find(name), point), 0, witness, {"PAPI_L1_DCM"}}}, 1);
  };
  for (const char* name : {"stride", "chase", "scatter"}) {
    const auto of = [&](std::int64_t size) {
      return seconds(name, {{"size", size}, {"stride", std::int64_t{64}}}, "model:i7-9700");
    };
    BOOST_TEST(of(1 << 30) > 20 * of(1 << 20));
  }
  for (const kernel::Kernel* one : kernel::all()) // whatever can be simulated takes time
    if (one->unsimulated().empty())
      BOOST_TEST(seconds(one->name(), {}, "model:i7-9700") > 0.03,
                 one->name() << " has no time in src/run/sweep_plan.cpp");
  const auto visits = [&](std::int64_t count) {
    return seconds("visit", {{"count", count}}, "model:i7-9700");
  };
  BOOST_TEST(visits(1 << 24) > 20 * visits(1 << 10));
  BOOST_TEST(seconds("stride", {{"size", std::int64_t{1} << 34}}, "clock") == 0); // not the model's
}

BOOST_AUTO_TEST_SUITE_END()
