// The table of proofs: every row is answered by its kernel, at a point that the kernel accepts.
#include "kernel/proofs.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace recount;

namespace {

const kernel::Expectation* find(const std::vector<kernel::Expectation>& all, const std::string& metric) {
  const auto found = std::ranges::find(all, metric, &kernel::Expectation::metric);
  return found == all.end() ? nullptr : &*found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(proofs)

BOOST_AUTO_TEST_CASE(every_row_is_answered_by_its_kernel) {
  const auto machine = model::machine("i7-9700");
  const auto simulated = model::metric_names(machine);
  for (const kernel::Proof& proof : kernel::proofs(machine)) {
    BOOST_TEST_CONTEXT(proof.preset << " by " << proof.kernel->name() << " "
                                    << result::describe(proof.point)) {
      BOOST_TEST((kernel::complete(*proof.kernel, proof.point) == proof.point));
      BOOST_TEST(proof.tolerance >= 0);
      BOOST_TEST(!proof.why.empty());
      const auto known = proof.kernel->expected(proof.point);
      if (const auto* expectation = find(known, proof.preset)) {
        BOOST_TEST(expectation->value > 0);
        BOOST_TEST(expectation->value - expectation->below >= 0);
        BOOST_TEST(!expectation->form.empty());
      } else {
        BOOST_TEST(proof.kernel->unsimulated() == "");
        BOOST_TEST((std::ranges::find(simulated, proof.preset) != simulated.end()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(without_a_machine_only_rows_that_need_none) {
  const auto all = kernel::proofs(model::machine("i7-9700")), some = kernel::proofs(std::nullopt);
  BOOST_TEST(!some.empty());
  BOOST_TEST(some.size() < all.size());
}

BOOST_AUTO_TEST_CASE(no_metric_is_stated_twice) {
  for (const kernel::Kernel* k : kernel::all()) {
    std::vector<std::string> names;
    for (const auto& expectation : k->expected(kernel::complete(*k, {})))
      names.push_back(expectation.metric);
    std::ranges::sort(names);
    BOOST_TEST_CONTEXT(k->name()) BOOST_TEST((std::ranges::adjacent_find(names) == names.end()));
  }
}

BOOST_AUTO_TEST_SUITE_END()
