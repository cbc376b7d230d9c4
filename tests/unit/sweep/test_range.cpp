// Ranges, sizes and conditions as the user types them.
#include "run/sweep_plan.hpp"

#include <boost/test/unit_test.hpp>
#include <recount/error.hpp>

using recount::sweep::parse_range;
using recount::sweep::parse_size;

BOOST_AUTO_TEST_SUITE(range)

namespace {
using Values = std::vector<std::int64_t>;

std::string complaint(const std::string& text) {
  try {
    static_cast<void>(parse_range(text, "--size"));
  } catch (const recount::Error& error) {
    BOOST_TEST(error.problem().subject == "--size");
    BOOST_TEST(!error.problem().fix.empty());
    return error.problem().cause;
  }
  return "";
}
} // namespace

BOOST_AUTO_TEST_CASE(ranges_read_as_documented) {
  const std::pair<const char*, Values> table[] = {
      {"7", {7}},
      {"0", {0}},
      {"1,2,8", {1, 2, 8}},
      {"8,1", {8, 1}},
      {"4K:32K:x2", {4096, 8192, 16384, 32768}},
      {"4K:33K:x2", {4096, 8192, 16384, 32768}},
      {"600:3000:400", {600, 1000, 1400, 1800, 2200, 2600, 3000}},
      {"600:1001:400", {600, 1000}},
      {"5:5:1", {5}},
      {"5:5:x2", {5}},
      {"1:5", {1, 2, 3, 4, 5}},
      {"1:10:x1.5", {1, 2, 3, 5, 8}},
      {"1:2:1,8:16:x2,2", {1, 2, 8, 16}},
      {"1M,2g,3k", {1 << 20, std::int64_t{2} << 30, 3072}},
      {"9223372036854775806:9223372036854775807:1", {INT64_MAX - 1, INT64_MAX}},
  };
  for (const auto& [text, values] : table)
    BOOST_TEST(parse_range(text, "--size") == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bad_ranges_are_refused_with_their_cause) {
  const std::pair<const char*, const char*> table[] = {
      {"", "it is empty"},
      {"x", "\"x\" is not a whole number"},
      {"1,,2", "\"\" is not a whole number"},
      {"1.5", "\"1.5\" is not a whole number"},
      {"4KB", "\"4KB\" is not a whole number"},
      {"9000000000G", "\"9000000000G\" is not a whole number"},
      {"4K:4M", "has no step"},
      {"1:4K", "has no step"},
      {"1:2:3:4", "has no step"},
      {"8:4:x2", "8 is greater than 4"},
      {"1:8:x1", "not a number above 1"},
      {"1:8:x", "not a number above 1"},
      {"1:8:xinf", "not a number above 1"},
      {"1:8:x2y", "not a number above 1"},
      {"0:8:x2", "starts at 1 or more"},
      {"1:8:0", "the step must be at least 1"},
      {"1:8:-1", "the step must be at least 1"},
      {"1:1G:1", "more than 100000 values"},
      {"1:1000000000000:x1.0000000000001", "the factor is too close to 1"},
  };
  for (const auto& [text, cause] : table) {
    const std::string said = complaint(text);
    BOOST_TEST(said.find(cause) != said.npos, text << " gave: " << said);
  }
}

BOOST_AUTO_TEST_CASE(sizes_take_suffixes) {
  BOOST_TEST(parse_size("64K", "--max-memory") == 65536);
  BOOST_CHECK_THROW(static_cast<void>(parse_size("64KiB", "--max-memory")), recount::Error);
}

BOOST_AUTO_TEST_SUITE_END()
