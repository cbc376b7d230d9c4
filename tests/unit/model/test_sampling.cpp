// Sampled simulations of matrix products against complete ones.
#include "../kernel/replay_matmul.hpp"
#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "model/nest_simulation.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_SUITE(sampling)

namespace {

/// An i7-9700 with an eighth of the entries, so that small matrices leave its caches and TLBs.
constexpr const char* small = R"({"name": "small",
  "levels": [{"name": "L1d", "size": "4K", "line": 64, "ways": 8},
             {"name": "L2", "size": "32K", "line": 64, "ways": 4}],
  "tlb": {"page": "4K", "levels": [{"entries": 16, "ways": 4}, {"entries": 96, "ways": 12, "index": "xor"}]}})";

kernel::Params point(const std::string& variant, std::int64_t n, std::int64_t block) {
  return kernel::complete(kernel::matmul_kernel(), {{"variant", variant}, {"n", n}, {"block", block}});
}

model::MachineDescription machine(bool sampled, const char* pages = nullptr) {
  auto all = model::parse_machine(small, "small.json");
  if (pages) all.placement = model::parse_placement(pages);
  all.sampled = sampled;
  return all;
}

/// Access by access, the second of two passes.
std::map<std::string, std::int64_t> complete(const kernel::Params& at, const model::MachineDescription& on) {
  model::Hierarchy caches(on);
  test::replay_matmul(at, caches);
  caches.reset_counters();
  test::replay_matmul(at, caches);
  return model::metrics(caches);
}

} // namespace

// The transposition is a loop that is simulated completely; of the product 6 samples of 2 to 5 windows are.
BOOST_AUTO_TEST_CASE(progress_is_reported_between_samples) {
  model::Hierarchy caches(machine(true));
  std::vector<double> reported;
  caches.progress.listener = [&](double share) { reported.push_back(share); };
  const model::MachineDescription on = machine(true);
  model::NestSimulation(kernel::matmul_nest(point("transposed", 170, 8)), on).run(caches);
  BOOST_REQUIRE(reported.size() > 100U);
  BOOST_TEST(std::ranges::is_sorted(reported));
  BOOST_TEST(reported.front() < 1.0 / 170);
  BOOST_TEST(std::abs(reported.back() - 1) < 1e-9);
  BOOST_TEST(std::ranges::count_if(reported, [](double share) { return share > 0.1; }) >= 12);
}

BOOST_AUTO_TEST_CASE(complete_counts_are_within_the_stated_error, *boost::unit_test::label("more")) {
  const struct {
    const char* variant;
    std::int64_t n, block;
    const char* pages;
  } cases[] = {{"ijk", 170, 8, nullptr},      {"ijk", 200, 8, "random"}, {"ikj", 170, 8, nullptr},
               {"ikj", 201, 8, "any"},        {"blocked", 256, 4, "4"},  {"blocked", 201, 4, nullptr},
               {"transposed", 170, 8, "huge"}};
  int stated = 0, close = 0;
  for (const auto& one : cases)
    BOOST_TEST_CONTEXT(one.variant << " n " << one.n << " block " << one.block) {
      const auto at = point(one.variant, one.n, one.block);
      const auto exact = complete(at, machine(false, one.pages));
      model::Hierarchy caches(machine(true, one.pages));
      kernel::matmul_kernel().simulate_warm(at, caches);
      BOOST_REQUIRE(caches.sampling.has_value());
      BOOST_TEST(2 * caches.sampling->counted < caches.sampling->accesses);
      const auto estimates = model::metrics(caches);
      const auto errors = model::sampling_errors(caches);
      for (const char* name : {"PAPI_LD_INS", "PAPI_SR_INS"})
        BOOST_TEST(std::abs(static_cast<double>(estimates.at(name) - exact.at(name))) <= errors.at(name) + 6,
                   name);
      for (const char* name : {"PAPI_L1_DCM", "PAPI_L2_DCM", "PAPI_TLB_DM", "MODEL_L1_WRITE_BACKS"}) {
        const auto value = static_cast<double>(exact.at(name));
        const double off = std::abs(static_cast<double>(estimates.at(name)) - value);
        BOOST_TEST(off <= errors.at(name),
                   name << " off by " << off << " of " << value << ", stated error " << errors.at(name));
        if (errors.at(name) > 0.5 * value) continue; // not stated
        ++stated;
        close += off < 0.02 * value;
      }
    }
  BOOST_TEST(stated >= 20);
  BOOST_TEST(10 * close >= 8 * stated, close << " of " << stated << " within 2 %");
}

BOOST_AUTO_TEST_CASE(ninety_nine_of_a_hundred_exact_counts_are_within_the_stated_error,
                     *boost::unit_test::label("more")) {
  int within = 0, all = 0;
  for (const char* variant : {"ijk", "ikj", "blocked", "transposed"})
    for (const std::int64_t n : {173, 192, 207}) {
      const auto at = point(variant, n, 8 + n % 5);
      model::Hierarchy exact(machine(false, "any")), sampled(machine(true, "any"));
      kernel::matmul_kernel().simulate_warm(at, exact);
      kernel::matmul_kernel().simulate_warm(at, sampled);
      BOOST_REQUIRE(sampled.sampling.has_value());
      const auto counts = model::metrics(exact), estimates = model::metrics(sampled);
      const auto errors = model::sampling_errors(sampled);
      for (const char* name :
           {"PAPI_L1_DCM", "PAPI_L2_DCM", "PAPI_TLB_DM", "PAPI_L2_DCA", "MODEL_L1_WRITE_BACKS"}) {
        ++all;
        const bool holds =
            std::abs(static_cast<double>(estimates.at(name) - counts.at(name))) <= errors.at(name);
        within += holds ? 1 : 0;
        if (!holds) BOOST_TEST_MESSAGE(variant << " n " << n << " " << name);
      }
    }
  BOOST_TEST(all == 60);
  BOOST_TEST(100 * within >= 99 * all, within << " of " << all);
}

BOOST_AUTO_TEST_CASE(a_small_nest_is_simulated_completely) {
  const auto at = point("ijk", 60, 8);
  model::Hierarchy caches(machine(true));
  kernel::matmul_kernel().simulate_warm(at, caches);
  BOOST_TEST(!caches.sampling.has_value());
  BOOST_TEST((model::metrics(caches) == complete(at, machine(false))));
  BOOST_TEST(model::sampling_errors(caches).empty());
}

BOOST_AUTO_TEST_SUITE_END()
