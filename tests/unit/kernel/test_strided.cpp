// stride and chase: what they do to memory, and what the model says of them.
#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"
#include "model/metrics.hpp"
#include "recount/error.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstring>
#include <ostream>
#include <random>
#include <set>

using namespace recount;
using kernel::Params;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(strided)

namespace {

Params point(std::int64_t size, std::int64_t stride, std::int64_t rounds = 0, std::int64_t passes = 1) {
  return {{"size", size}, {"stride", stride}, {"rounds", rounds}, {"passes", passes}};
}

template <class T>
T at(std::uint64_t address) {
  T value;
  std::memcpy(&value, std::bit_cast<const void*>(address), sizeof value);
  return value;
}

/// Misses over the i7-9700 of `passes` passes, caches cold.
std::map<std::string, std::int64_t> modelled(const std::string& kernel, const Params& params) {
  model::Hierarchy caches(model::machine("i7-9700~no-tlb"));
  kernel::find(kernel).simulate(params, caches);
  return model::metrics(caches);
}

/// L1: 64 sets of 8 ways, 64-byte lines. A sweep over more lines of a set than ways misses every time.
struct Row {
  std::int64_t size, stride, passes, misses;
};
std::ostream& operator<<(std::ostream& out, const Row& r) {
  return out << r.size << "/" << r.stride;
}

const std::vector<Row> rows = {
    {4096, 64, 10, 64},                // fits: the first pass alone misses
    {32768, 1, 10, 512},               // just fits
    {32768, 64, 10, 512},              //
    {65536, 64, 10, 10 * 1024},        // 16 lines for each set of 8: never there again
    {65536, 1, 10, 10 * 1024},         // one miss a line
    {65536, 16, 10, 10 * 1024},        //
    {65536, 128, 10, 10 * 512},        // half of the sets, 16 lines each
    {65536, 4096, 10, 10 * 16},        // one set, 16 lines
    {65536, 8192, 10, 8},              // one set, 8 lines: the misses are gone
    {65536, 32768, 10, 2},             //
    {36864, 64, 10, 10 * 576},         // 9 lines a set
    {36864 - 64, 64, 10, 63 * 90 + 8}, // 63 sets of 9 lines, one of 8
};

} // namespace

BOOST_DATA_TEST_CASE(stride_misses_as_computed_by_hand, data::make(rows), row) {
  const auto m = modelled("stride", point(row.size, row.stride, 0, row.passes));
  BOOST_TEST(m.at("PAPI_L1_DCM") == row.misses);
  BOOST_TEST(m.at("PAPI_L1_STM") == 0); // the load has brought the line
  BOOST_TEST(m.at("PAPI_LD_INS") == row.passes * (row.size / row.stride));
  BOOST_TEST(m.at("PAPI_SR_INS") == m.at("PAPI_LD_INS"));
}

BOOST_DATA_TEST_CASE(chase_misses_where_no_two_visits_share_a_line, data::make(rows), row) {
  if (row.stride < 64) return;
  const auto m = modelled("chase", point(row.size, row.stride, 0, row.passes));
  BOOST_TEST(m.at("PAPI_L1_DCM") <= row.misses); // a random cycle, walked again and again, is a sweep to LRU
  BOOST_TEST(m.at("PAPI_L1_DCM") == row.misses);
  BOOST_TEST(m.at("PAPI_LD_INS") == row.passes * (row.size / row.stride));
  BOOST_TEST(m.at("PAPI_SR_INS") == 0);
}

BOOST_AUTO_TEST_CASE(stride_adds_one_a_pass_to_each_visited_byte_and_to_no_other) {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 50; ++i) {
    const auto size = static_cast<std::int64_t>(1 + engine() % 9000);
    const auto stride = 1 + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(size));
    const auto passes = static_cast<std::int64_t>(1 + engine() % 5);
    const auto instance = kernel::find("stride").prepare(point(size, stride, 0, passes));
    instance->region()();
    const std::uint64_t base = instance->placement().base;
    std::int64_t sum = 0;
    for (std::int64_t j = 0; j < size; ++j) {
      const auto value = at<std::uint8_t>(base + static_cast<std::uint64_t>(j));
      if (value != 0 && j % stride != 0)
        BOOST_ERROR("byte " << j << " of stride " << stride << " was touched");
      sum += value;
    }
    BOOST_TEST(sum == passes * (size / stride));
    BOOST_TEST(instance->accesses() == sum);
  }
}

BOOST_AUTO_TEST_CASE(passes_are_rounds_times_stride_and_the_rest) {
  const kernel::Kernel& stride = kernel::find("stride");
  BOOST_TEST(stride.prepare(point(4096, 16, 10, 0))->accesses() == 160 * 256);
  BOOST_TEST(stride.prepare(point(4096, 16, 200, 1))->accesses() == 3201 * 256);
  BOOST_TEST(stride.prepare(point(4096, 16, 0, 3))->accesses() == 3 * 256);
  BOOST_TEST(stride.prepare({})->accesses() == 10 * 32768);
}

BOOST_AUTO_TEST_CASE(chase_leads_through_every_element_once_and_back) {
  for (const std::int64_t stride : {8, 12, 64, 100}) {
    const std::int64_t size = 8000, elements = size / stride;
    const auto instance = kernel::find("chase").prepare(point(size, stride));
    const std::uint64_t base = instance->placement().base;
    std::set<std::uint64_t> seen;
    std::uint64_t p = base;
    std::int64_t neighbours = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
      seen.insert(p);
      BOOST_TEST((p - base) % static_cast<std::uint64_t>(stride) == 0u);
      const auto next = at<std::uint64_t>(p);
      neighbours += next == p + static_cast<std::uint64_t>(stride) ? 1 : 0;
      p = next;
    }
    BOOST_TEST(p == base);
    BOOST_TEST(seen.size() == static_cast<std::size_t>(elements));
    BOOST_TEST(neighbours < elements / 8); // in random order about one is
    instance->region()();
    BOOST_TEST(instance->accesses() == elements);
  }
}

BOOST_AUTO_TEST_CASE(the_order_of_chase_follows_its_seed) {
  const auto first = [](std::int64_t seed) {
    Params p = point(8000, 8);
    p["seed"] = seed;
    const auto instance = kernel::find("chase").prepare(p);
    const std::uint64_t base = instance->placement().base;
    return at<std::uint64_t>(base) - base;
  };
  BOOST_TEST(first(1) == first(1));
  std::set<std::uint64_t> different;
  for (std::int64_t seed = 0; seed < 10; ++seed)
    different.insert(first(seed));
  BOOST_TEST(different.size() > 5u);
}

BOOST_AUTO_TEST_CASE(offsets_and_huge_pages_place_the_data) {
  for (const char* pages : {"small", "huge"}) {
    Params p = point(100000, 64);
    p["offset"] = std::int64_t{24};
    p["pagesize"] = std::string(pages);
    const auto instance = kernel::find("stride").prepare(p);
    const kernel::Placement where = instance->placement();
    BOOST_TEST(where.offset == 24);
    const std::uint64_t boundary = pages[0] == 'h' ? 2u << 20 : static_cast<std::uint64_t>(where.page);
    BOOST_TEST(where.base % boundary == 24u);
    BOOST_TEST(where.bytes >= 100024);
    if (pages[0] == 's') BOOST_TEST(where.huge_bytes == 0);
    instance->region()();
  }
}

BOOST_AUTO_TEST_CASE(the_model_places_data_at_the_offset) {
  Params p = point(128, 64, 0, 1); // two bytes, 64 apart
  BOOST_TEST(modelled("chase", p).at("PAPI_L1_DCA") == 2);
  p["offset"] = std::int64_t{60}; // each pointer of 8 bytes now lies across two lines
  BOOST_TEST(modelled("chase", p).at("PAPI_L1_DCA") == 4);
  BOOST_TEST(modelled("chase", p).at("PAPI_LD_INS") == 2);
}

BOOST_AUTO_TEST_CASE(a_size_over_memory_is_refused_with_both_numbers) {
  for (const char* name : {"stride", "chase"}) {
    const std::int64_t size = std::int64_t{1} << 43;
    BOOST_CHECK_EXCEPTION((void)kernel::find(name).prepare(point(size, 1 << 30)), Error, [&](const Error& e) {
      return e.kind() == ErrorKind::bad_input &&
             e.problem().cause.find(std::to_string(size)) != std::string::npos &&
             e.problem().cause.find("available") != std::string::npos && !e.problem().fix.empty();
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()
