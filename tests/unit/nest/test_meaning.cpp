// A nest that is read from its text makes the accesses that recount-nest(5) defines: random nests against an
// interpreter that does not know the parser.
#include "kernel/nest/nest_kernel.hpp"
#include "model/hierarchy.hpp"
#include "random_written_nest.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(nest_meaning)

namespace {

using nest::Type;
const std::vector<Type> all_types{Type::f64, Type::f32, Type::i64, Type::i32, Type::i16, Type::i8};

/// Addresses of the first elements: each array begins `offset` bytes behind a page boundary.
std::vector<std::uint64_t> bases(const written::Nest& nest, std::int64_t offset) {
  std::vector<std::uint64_t> all;
  std::uint64_t next = kernel::assumed_base;
  for (const written::Array& array : nest.arrays) {
    all.push_back(next + static_cast<std::uint64_t>(offset));
    std::int64_t bytes = nest::bytes(nest.type);
    for (std::size_t d = 0; d < array.extents.size(); ++d)
      bytes *= array.extents[d] + (d == (array.column_major ? 0 : array.extents.size() - 1) ? array.pad : 0);
    next += static_cast<std::uint64_t>((bytes + offset + 4095) / 4096 * 4096);
  }
  return all;
}

void replay(const written::Nest& nest, std::int64_t offset, model::Hierarchy& caches) {
  const auto base = bases(nest, offset);
  const auto size = static_cast<unsigned>(nest::bytes(nest.type));
  written::Interpreter meaning(nest);
  meaning.access = [&](bool store, std::size_t array, std::int64_t element) {
    const std::uint64_t address = base[array] + static_cast<std::uint64_t>(element) * size;
    store ? caches.store(address, size) : caches.load(address, size);
  };
  meaning.run();
}

double compute_count(const std::vector<kernel::Expectation>& all, const std::string& metric) {
  for (const auto& known : all)
    if (known.metric == metric) return known.value;
  return -1;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_model_replays_the_accesses_of_the_text) {
  int refused = 0, compared = 0;
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES / 4; ++seed) {
    Chance chance(seed);
    const RandomWrittenNest random(chance, all_types);
    const std::string text = written::Writer(random.nest()).text();
    model::MachineDescription machine = random_machine(chance, chance.one_in(4));
    const std::int64_t offset = chance.one_in(2) ? 16 : chance.from(0, 500) * 8;
    const result::Params point = {{"offset", offset}};
    written::Interpreter meaning(random.nest());
    meaning.run();
    BOOST_TEST_CONTEXT("seed " << seed << " offset " << offset << " on " << describe(machine) << "\n"
                               << text) {
      const kernel::NestKernel kernel("random.nest", text);
      try {
        static_cast<void>(kernel.bytes(point));
      } catch (const Error& error) { // a bound that no turn reaches, or nothing to do
        const std::string& cause = error.problem().cause;
        const bool careful = cause.find("; its extent is") != cause.npos;
        BOOST_TEST((careful || cause.find("makes no access") != cause.npos), cause);
        BOOST_TEST((careful || meaning.loads + meaning.stores == 0), cause);
        refused += careful ? 1 : 0;
        continue;
      }
      ++compared;
      model::Hierarchy cold(machine), warm(machine), plain(machine);
      const std::int64_t accesses = kernel.simulate(point, cold);
      replay(random.nest(), offset, plain);
      BOOST_TEST(accesses == meaning.loads + meaning.stores);
      BOOST_TEST((cold.counts() == plain.counts()));
      BOOST_TEST((cold.state() == plain.state()));
      kernel.simulate_warm(point, warm);
      plain.reset_counters();
      replay(random.nest(), offset, plain);
      BOOST_TEST((warm.counts() == plain.counts()));
      BOOST_TEST((warm.state() == plain.state()));
      const auto known = kernel.expected(point);
      BOOST_TEST(compute_count(known, "PAPI_LD_INS") == static_cast<double>(meaning.loads));
      BOOST_TEST(compute_count(known, "PAPI_SR_INS") == static_cast<double>(meaning.stores));
      const double operations = floating(random.nest().type) ? static_cast<double>(meaning.operations) : 0;
      BOOST_TEST(compute_count(known, "PAPI_FP_OPS") == operations);
    }
  }
  BOOST_TEST(compared > 2 * refused, compared << " compared, " << refused << " refused");
}

BOOST_AUTO_TEST_CASE(an_extent_that_is_too_small_by_one_is_refused) {
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES / 4; ++seed) {
    Chance chance(seed);
    RandomWrittenNest random(chance, all_types);
    written::Nest& nest = random.nest();
    written::Interpreter meaning(nest);
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> most;
    meaning.subscript = [&](std::size_t array, std::size_t dimension, std::int64_t at) {
      auto& high = most[{array, dimension}];
      high = std::max(high, at);
    };
    meaning.run();
    for (const auto& [where, high] : most) {
      auto& extent = nest.arrays[where.first].extents[where.second];
      if (high == 0) continue;
      BOOST_TEST(extent == high + 1);
      --extent;
      const std::string text = written::Writer(nest).text();
      const kernel::NestKernel kernel("random.nest", text);
      BOOST_CHECK_EXCEPTION(static_cast<void>(kernel.bytes({})), Error, [](const Error& error) {
        return error.problem().cause.find("; its extent is") != std::string::npos;
      });
      ++extent;
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
