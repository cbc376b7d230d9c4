// Rows at their word: where PAPI does otherwise, the two values differ.
#include "count/preset/preset_table.hpp"
#include "count/preset/written.hpp"

#include <recount/preset.hpp>

#include <boost/test/unit_test.hpp>

#include <map>

using namespace recount;

BOOST_AUTO_TEST_SUITE(written_rows)

namespace {

const NativeLookup letters = [](const std::string& name) {
  return name.size() == 1 && name[0] >= 'A' && name[0] <= 'J' ? Known::yes : Known::no;
};

/// How often each event occurred: A 1, B 2, C 4 …
long long count(const std::string& native) {
  return 1LL << (native[0] - 'A');
}

/// One preset of a table, by its row and by PAPI.
struct Both {
  PresetValue row, papi;
};

Both both(const std::string& rows, const std::string& name = "PAPI_TOT_INS", const std::string& user = "") {
  const auto table = PresetTable::of("CPU,cpu\n" + rows), events = PresetTable::of("CPU,cpu\n" + user);
  const auto loaded = table.load("cpu", 7, letters, PapiVersion::v7_0, &events);
  const Preset* const preset = loaded.find(name);
  BOOST_TEST_REQUIRE(preset != nullptr, rows);
  std::vector<long long> counts;
  for (const auto& native : preset->natives)
    counts.push_back(count(native.name));
  return {evaluate(preset::written(*preset, loaded, table.document(), &events.document()), count, 1000),
          evaluate(*preset, counts, 1000)};
}

constexpr auto has = PresetValue::Ending::value;

} // namespace

BOOST_AUTO_TEST_CASE(where_papi_is_right_the_values_are_equal) {
  const std::map<std::string, long long> rows{
      {"NOT_DERIVED,C", 4},
      {"DERIVED_ADD,A,B,C", 7},
      {"DERIVED_SUB,A,B,C", -5},
      {"DERIVED_CMPD,B,C", 2},
      {"DERIVED_PS,A,B", 2'000'000'000},
      {"DERIVED_ADD_PS,A,B,C", 6'000'000'000},
      {"DERIVED_POSTFIX,N0|3|*|N1|+|,C,B", 14},
      {"DERIVED_POSTFIX,N0|N1|/|,A,B", 0},
      {"DERIVED_POSTFIX,#,A", 1'000'000'000},
      {"DERIVED_INFIX,N0+N1*N2,A,B,C", 9},
      {"DERIVED_INFIX,(N0-N1)-N2,A,B,C", -5},
      {"NOT_DERIVED,D,NOTE,\"ten\"", 8},
  };
  for (const auto& [row, value] : rows) {
    BOOST_TEST_CONTEXT(row) {
      const Both got = both("PRESET,PAPI_TOT_INS," + row + "\n");
      BOOST_TEST((got.row.ending == has));
      BOOST_TEST(got.row.value == value);
      BOOST_TEST(got.papi.value == value);
    }
  }
}

BOOST_AUTO_TEST_CASE(infix_is_read_from_the_left) {
  const Both got = both("PRESET,PAPI_TOT_INS,DERIVED_INFIX,N0-N1-N2,A,B,C\n");
  BOOST_TEST(got.row.value == -5);
  BOOST_TEST(got.papi.value == 3); // A - (B - C)
}

BOOST_AUTO_TEST_CASE(a_division_by_zero_has_no_value) {
  const Both got = both("PRESET,PAPI_TOT_INS,DERIVED_POSTFIX,N0|N1|N1|-|/|,A,B\n");
  BOOST_TEST((got.row.ending != has));
  BOOST_TEST(got.row.why == "division by a count of 0");
  BOOST_TEST((got.papi.ending == has));
}

BOOST_AUTO_TEST_CASE(all_terms_count_that_papi_drops) {
  const Both got = both("PRESET,PAPI_TOT_INS,DERIVED_ADD,A,B,C,D,E,F,G,H,I,J\n");
  BOOST_TEST(got.row.value == 1023);
  BOOST_TEST(got.papi.value == 255);
  const Both half = both("PRESET,PAPI_TOT_INS,DERIVED_ADD,A,B,unknown\n"); // names are the caller's to find
  BOOST_TEST(half.papi.value == 3);
  BOOST_TEST((preset::natives(preset::written(
                  *PresetTable::of("CPU,cpu\nPRESET,PAPI_TOT_INS,DERIVED_ADD,A,x,A\n")
                       .load("cpu", 7, letters)
                       .find("PAPI_TOT_INS"),
                  PresetTable::of("CPU,cpu\nPRESET,PAPI_TOT_INS,DERIVED_ADD,A,x,A\n").load("cpu", 7, letters),
                  PresetTable::of("CPU,cpu\nPRESET,PAPI_TOT_INS,DERIVED_ADD,A,x,A\n").document(), nullptr)) ==
              std::vector<std::string>{"A", "x"}));
}

BOOST_AUTO_TEST_CASE(nested_presets_count_by_their_value) {
  const std::string inner = "PRESET,PAPI_LD_INS,DERIVED_SUB,C,A\n";
  const Both got = both(inner + "PRESET,PAPI_TOT_INS,DERIVED_SUB,D,PAPI_LD_INS\n");
  BOOST_TEST(got.row.value == 5);
  const Both infix = both(inner + "PRESET,PAPI_TOT_INS,DERIVED_INFIX,N0-N1,PAPI_LD_INS,B\n");
  BOOST_TEST(infix.row.value == 1);
  const Both none = both("PRESET,PAPI_TOT_INS,DERIVED_ADD,A,PAPI_LD_INS\n");
  BOOST_TEST(none.row.why == "its term PAPI_LD_INS is an undefined preset");
  const Both itself =
      both("PRESET,PAPI_TOT_INS,NOT_DERIVED,A\nPRESET,PAPI_TOT_INS,DERIVED_ADD,PAPI_TOT_INS,A\n");
  BOOST_TEST(itself.row.why == "its presets refer to each other");
}

BOOST_AUTO_TEST_CASE(sums_of_multiples_are_linear) {
  const auto is_linear = [](const std::string& row) {
    const auto table =
        PresetTable::of("CPU,cpu\nPRESET,PAPI_LD_INS,DERIVED_SUB,C,A\nPRESET,PAPI_TOT_INS," + row);
    const auto loaded = table.load("cpu", 7, letters);
    const Preset* const preset = loaded.find("PAPI_TOT_INS");
    BOOST_TEST_REQUIRE(preset != nullptr, row);
    return linear(preset::written(*preset, loaded, table.document(), nullptr));
  };
  for (const char* row : {"NOT_DERIVED,A", "DERIVED_SUB,A,B", "DERIVED_ADD,A,PAPI_LD_INS", "DERIVED_CMPD,A,B",
                          "DERIVED_POSTFIX,N0|3|*|N1|+|2|/|,A,B"})
    BOOST_TEST(is_linear(row), row);
  for (const char* row : {"DERIVED_PS,A,B", "DERIVED_POSTFIX,N0|N1|/|,A,B", "DERIVED_POSTFIX,N0|N1|*|,A,B",
                          "DERIVED_POSTFIX,N0|1|+|,A", "DERIVED_POSTFIX,#|,A"})
    BOOST_TEST(!is_linear(row), row);
}

BOOST_AUTO_TEST_CASE(user_events_are_found_in_their_own_table) {
  const Both got = both("PRESET,PAPI_LD_INS,NOT_DERIVED,C\n", "MINE", "EVENT,MINE,DERIVED_ADD,A,B\n");
  BOOST_TEST(got.row.value == 3);
  BOOST_TEST(got.papi.value == 3);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_has_no_value) {
  for (const char* row : {"DERIVED_POSTFIX,N0 N1 +,A,B", "DERIVED_POSTFIX,N0|N1|,A,B",
                          "DERIVED_POSTFIX,N8|,A", "DERIVED_POSTFIX,N1|,A"}) {
    const Both got = both(std::string("PRESET,PAPI_TOT_INS,") + row + "\n");
    BOOST_TEST((got.row.ending != has), row);
    BOOST_TEST(!got.row.why.empty(), row);
  }
}

BOOST_AUTO_TEST_SUITE_END()
