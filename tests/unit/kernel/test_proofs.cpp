// The table of proofs: every row is answered by its kernel, at a point that the kernel accepts.
#include "count/preset/standard.hpp"
#include "kernel/proofs.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

using namespace recount;

BOOST_AUTO_TEST_SUITE(proofs)

namespace {

const kernel::Expectation* find(const std::vector<kernel::Expectation>& all, const std::string& metric) {
  const auto found = std::ranges::find(all, metric, &kernel::Expectation::metric);
  return found == all.end() ? nullptr : &*found;
}

/// Presets that this architecture cannot provoke.
bool without(const std::string& preset) {
  const auto rows = kernel::unprovable();
  return std::ranges::find(rows, preset, &kernel::Unprovable::preset) != rows.end();
}

} // namespace

BOOST_AUTO_TEST_CASE(every_row_is_answered_by_its_kernel) {
  const auto machine = model::machine("i7-9700-l3");
  const auto simulated = model::metric_names(machine);
  for (const kernel::Proof& proof : kernel::proofs(machine)) {
    BOOST_TEST_CONTEXT(proof.preset << " by " << proof.kernel->name() << " "
                                    << kernel::describe(proof.point)) {
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

BOOST_AUTO_TEST_CASE(every_standard_preset_has_a_proof_or_a_reason_and_never_both) {
  std::set<std::string> proven, narrowly, reasons;
  for (const kernel::Proof& proof : kernel::proofs(model::machine("i7-9700-l3"))) {
    proven.insert(proof.preset);
    const auto known = proof.kernel->expected(proof.point);
    const auto* stated = find(known, proof.preset);
    if (stated == nullptr || stated->below + stated->above <= stated->value / 4)
      narrowly.insert(proof.preset);
  }
  for (const kernel::Unprovable& row : kernel::unprovable()) {
    BOOST_TEST(reasons.insert(row.preset).second, row.preset << " stands twice");
    BOOST_TEST(!row.reason.empty());
    BOOST_TEST((preset::standard_preset(row.preset) != nullptr), row.preset);
  }
  std::size_t covered = 0, counted = 0;
  for (const preset::StandardPreset& standard : preset::standard_presets()) {
    const std::string name(standard.name);
    BOOST_TEST((proven.contains(name) != reasons.contains(name)),
               name << " has " << (proven.contains(name) ? "a proof and a reason why not" : "neither"));
    covered += proven.contains(name) ? 1U : 0U;
    counted += narrowly.contains(name) ? 1U : 0U;
  }
  const std::size_t provokable = preset::standard_presets().size() - reasons.size();
  std::printf("presets with a proven kernel: %zu of %zu that user code can provoke, of %zu standard ones; "
              "%zu of them by a count, the others between bounds\n",
              covered, provokable, preset::standard_presets().size(), counted);
  BOOST_TEST(covered >= 70u);
  for (const std::string& name : proven)
    BOOST_TEST((!name.starts_with("PAPI_") || preset::standard_preset(name) != nullptr), name);
}

BOOST_AUTO_TEST_CASE(rows_are_written_right) {
  // What proofs() leaves out for one machine must be there for another, or the row is a slip.
  std::set<std::pair<std::string, std::string>> answered;
  const auto machine = model::machine("i7-9700-l3");
  for (const kernel::Proof& proof : kernel::proofs(machine))
    answered.emplace(proof.kernel->name(), proof.preset);
  for (const kernel::ProofRow& row : kernel::proof_rows()) {
    std::istringstream presets(row.presets);
    for (std::string preset; presets >> preset;)
      BOOST_TEST((without(preset) || answered.contains({row.kernel, preset})),
                 row.kernel << " " << row.point << " does not answer " << preset);
  }
}

BOOST_AUTO_TEST_CASE(without_a_machine_only_rows_that_need_none) {
  const auto all = kernel::proofs(model::machine("i7-9700-l3")), some = kernel::proofs(std::nullopt);
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
