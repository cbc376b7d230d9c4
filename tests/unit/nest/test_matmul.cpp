// The shipped matrix products against the built-in kernel: equal counts in every cache and TLB, and equal
// states.
#include "base/text.hpp"
#include "kernel/nest/nest_kernel.hpp"
#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace recount;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(nest_matmul)

namespace {

const kernel::NestKernel shipped(const std::string& name) {
  const std::string file = std::string(RECOUNT_NESTS) + "/" + name + ".nest";
  const auto text = base::read_file(file);
  BOOST_TEST_REQUIRE(text.has_value(), file);
  return {file, *text};
}

const std::vector<std::string> variants = {"ijk", "ijk-mem", "ikj", "transposed", "blocked"};
const std::vector<std::string> elements = {"f64", "i16"};
const std::vector<std::string> machines = {
    "i7-9700",     "i7-9700~no-tlb", "i7-9700-l3", "i7-9700-prefetch",
    "ryzen-3700x", "cortex-a57",     "xeon-8180",  "i7-9700~placement=random"};
const std::vector<std::int64_t> sizes{13, 32}; // rows that end within a line, and rows of whole lines

} // namespace

BOOST_DATA_TEST_CASE(a_nest_counts_as_the_kernel,
                     data::make(variants) * data::make(elements) * data::make(machines), variant, element,
                     machine) {
  const kernel::NestKernel nest = shipped("gemm-" + variant);
  for (const std::int64_t n : sizes) {
    const result::Params same = {{"n", n}, {"element", element}, {"offset", std::int64_t{n == 32 ? 0 : 16}}};
    result::Params built_in = same, written = same;
    built_in["variant"] = variant;
    if (variant == "blocked") built_in["block"] = written["block"] = std::int64_t{17};
    model::MachineDescription description = model::machine(machine);
    if (description.placement) description.placement->draw = static_cast<std::uint64_t>(n);
    model::Hierarchy one(description), other(description);
    BOOST_TEST_CONTEXT(result::describe(written)) {
      const auto accesses = kernel::find("matmul").simulate(built_in, one);
      BOOST_TEST(nest.simulate(written, other) == accesses);
      BOOST_TEST((one.counts() == other.counts()));
      BOOST_TEST((one.state() == other.state()));
      BOOST_TEST(one.counts().levels[0].missed(model::Cause::load) > 0);
      model::Hierarchy warm(description), warm_other(description);
      kernel::find("matmul").simulate_warm(built_in, warm);
      nest.simulate_warm(written, warm_other);
      BOOST_TEST((warm.counts() == warm_other.counts()));
      BOOST_TEST((model::metrics(warm) == model::metrics(warm_other)));
    }
  }
}

BOOST_AUTO_TEST_CASE(samples_are_those_of_the_kernel) {
  const auto machine = model::machine("i7-9700~sample");
  const result::Params point = {{"n", std::int64_t{170}}};
  model::Hierarchy one(machine), other(machine);
  kernel::find("matmul").simulate_warm(point, one);
  shipped("gemm-ijk").simulate_warm(point, other);
  BOOST_TEST(one.sampling.has_value());
  BOOST_TEST((one.counts() == other.counts()));
}

BOOST_AUTO_TEST_CASE(a_family_is_that_of_the_kernel) {
  const auto machine = model::machine("i7-9700~no-tlb~l1=4K:32K/1:8");
  BOOST_TEST_REQUIRE(machine.family.size() > 4u);
  const result::Params point = {{"n", std::int64_t{60}}};
  model::Hierarchy one(machine), other(machine);
  kernel::find("matmul").simulate_warm(point, one);
  shipped("gemm-ijk").simulate_warm(point, other);
  for (const auto& member : machine.family)
    BOOST_TEST((model::metrics(one, member) == model::metrics(other, member)));
}

BOOST_AUTO_TEST_SUITE_END()
