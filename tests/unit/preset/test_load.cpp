// The reading of tables, by hand-made cases: each stands for a line of what PAPI does.
#include "base/formula/algebra.hpp"
#include "count/preset/preset_table.hpp"

#include <recount/preset.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <random>

using namespace recount;

namespace {

const NativeLookup native_names = [](const std::string& name) {
  if (name == "REFUSED") return Known::refused;
  return name.size() == 1 && name[0] >= 'A' && name[0] <= 'J' ? Known::yes : Known::no;
};

LoadedTable load(const std::string& rows, PapiVersion version = PapiVersion::v7_0) {
  return PresetTable::of("CPU,cpu\n" + rows).load("CPU", 7, native_names, version);
}

std::string natives(const Preset& preset) {
  std::string text;
  for (const auto& native : preset.natives)
    text += native.name;
  return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(fields_are_cut_as_strtok_cuts) {
  const auto document = preset::parse("a,, b ,\" c,d\",\t\n , x\nCPU\n#x,y\n\n");
  const auto& fields = document.lines.at(0).fields;
  BOOST_TEST_REQUIRE(fields.size() == 5U);
  BOOST_TEST(fields[1].text == "b");
  BOOST_TEST((fields[1].place == Place{1, 5}));
  BOOST_TEST(fields[2].text == "\" c");
  BOOST_TEST(fields[4].text.empty());
  BOOST_TEST((document.lines.at(1).kind == preset::Kind::blank));
  BOOST_TEST((document.lines.at(2).kind == preset::Kind::cpu));
  BOOST_TEST((document.lines.at(3).kind == preset::Kind::comment));
}

BOOST_AUTO_TEST_CASE(notes_lose_their_quotes) {
  BOOST_TEST(preset::trim_note(" \"x y\" ") == "x y");
  BOOST_TEST(preset::trim_note("(x)") == "x");
  BOOST_TEST(preset::trim_note("\"x") == "\"x");
  BOOST_TEST(preset::trim_note("\"") == "");
}

BOOST_AUTO_TEST_CASE(the_last_definition_wins_and_what_fails_erases_it) {
  const auto twice = load("PRESET,PAPI_LD_INS,NOT_DERIVED,A\nPRESET,papi_ld_ins,NOT_DERIVED,B\n");
  BOOST_TEST_REQUIRE(twice.find("PAPI_LD_INS") != nullptr);
  BOOST_TEST(natives(*twice.find("PAPI_LD_INS")) == "B");
  BOOST_TEST(
      load("PRESET,PAPI_LD_INS,NOT_DERIVED,A\nPRESET,PAPI_LD_INS,NOT_DERIVED,x\n").find("PAPI_LD_INS") ==
      nullptr);
}

BOOST_AUTO_TEST_CASE(rows_that_crash_papi) {
  for (const char* row :
       {"PRESET,PAPI_LD_INS\n", "PRESET,PAPI_LD_INS,WHAT,A\n", "PRESET,PAPI_LD_INS,DERIVED_POSTFIX\n",
        "PRESET,PAPI_LD_INS,DERIVED_INFIX,N0),A\n", "PRESET,PAPI_LD_INS,NOT_DERIVED\r,A\n"})
    BOOST_TEST(load(row).crashes, row);
  BOOST_TEST(!load("PRESET,PAPI_NEW,WHAT,A\n").crashes); // a name of its own may be freed
  BOOST_TEST(!load("PRESET,PAPI_LD_INS,NOT_DERIVED\n").crashes);
}

BOOST_AUTO_TEST_CASE(a_later_unknown_term_leaves_half_a_preset) {
  const auto loaded = load("PRESET,PAPI_LST_INS,DERIVED_ADD,A,x,B\n");
  BOOST_TEST_REQUIRE(loaded.presets.size() == 1U);
  BOOST_TEST(loaded.presets[0].half_read);
  BOOST_TEST(natives(loaded.presets[0]) == "A");
}

BOOST_AUTO_TEST_CASE(refused_once_accepted_twice) {
  const auto loaded =
      load("PRESET,PAPI_LD_INS,NOT_DERIVED,REFUSED\nPRESET,PAPI_SR_INS,NOT_DERIVED,REFUSED\n");
  BOOST_TEST(loaded.find("PAPI_LD_INS") == nullptr);
  BOOST_TEST(loaded.find("PAPI_SR_INS") != nullptr);
}

BOOST_AUTO_TEST_CASE(eight_terms_then_twelve) {
  const std::string row = "PRESET,PAPI_TOT_INS,DERIVED_ADD,A,B,C,D,E,F,G,H,I,J\n";
  BOOST_TEST(natives(load(row).presets.at(0)) == "ABCDEFGH");
  BOOST_TEST(natives(load(row, PapiVersion::v7_3).presets.at(0)) == "ABCDEFGHIJ");
}

BOOST_AUTO_TEST_CASE(a_stray_line_ends_the_table_of_the_newer_papi_only) {
  const std::string rows = "PRESET,PAPI_LD_INS,NOT_DERIVED,A\nwhat,ever\nPRESET,PAPI_SR_INS,NOT_DERIVED,B\n";
  BOOST_TEST(load(rows).presets.size() == 2U);
  BOOST_TEST(load(rows, PapiVersion::v7_3).presets.size() == 1U);
}

BOOST_AUTO_TEST_CASE(nested_presets_go_wrong_as_in_papi) {
  const std::string inner = "PRESET,PAPI_LD_INS,DERIVED_ADD,A,B\n";
  const auto loaded = load(inner + "PRESET,PAPI_LST_INS,DERIVED_POSTFIX,N0|N1|-|,PAPI_LD_INS,C\n");
  BOOST_TEST_REQUIRE(loaded.find("PAPI_LST_INS") != nullptr);
  // An inner DERIVED_ADD has no formula to put in: N0 and N1 now are A and B, and C is lost.
  BOOST_TEST(loaded.find("PAPI_LST_INS")->postfix == "N0|N1|-|");
  BOOST_TEST(natives(*loaded.find("PAPI_LST_INS")) == "ABC");
}

BOOST_AUTO_TEST_CASE(user_events_come_after_and_build_on_presets) {
  const auto table = PresetTable::of("CPU,cpu\nPRESET,PAPI_LD_INS,NOT_DERIVED,A\n");
  const auto user = PresetTable::of("CPU,cpu\nEVENT,mine,DERIVED_SUB,PAPI_LD_INS,B\n");
  const auto loaded = table.load("cpu", 7, native_names, PapiVersion::v7_0, &user);
  BOOST_TEST_REQUIRE(loaded.find("mine") != nullptr);
  BOOST_TEST(natives(*loaded.find("mine")) == "AB");
}

BOOST_AUTO_TEST_CASE(a_number_after_the_cpu_must_fit) {
  const std::string text = "CPU,cpu,7\nPRESET,PAPI_LD_INS,NOT_DERIVED,A\n";
  BOOST_TEST(PresetTable::of(text).load("cpu", 7, native_names).presets.size() == 1U);
  BOOST_TEST(PresetTable::of(text).load("cpu", 8, native_names).presets.empty());
}

BOOST_AUTO_TEST_CASE(values) {
  const auto value = [](const std::string& row, const std::vector<long long>& counts) {
    return evaluate(load(row).presets.at(0), counts, 2000);
  };
  BOOST_TEST(value("PRESET,PAPI_FP_OPS,DERIVED_SUB,A,B,C\n", {10, 3, 4}).value == 3);
  BOOST_TEST(value("PRESET,PAPI_FP_OPS,DERIVED_PS,A,B\n", {2000, 3}).value == 3000000);
  BOOST_TEST(value("PRESET,PAPI_FP_OPS,DERIVED_INFIX,N0-N1-N2,A,B,C\n", {10, 3, 4}).value == 11);
  BOOST_TEST(value("PRESET,PAPI_FP_OPS,DERIVED_POSTFIX,N0|N1|/|,A,B\n", {7, 2}).value == 3);
  BOOST_TEST(value("PRESET,PAPI_FP_OPS,DERIVED_POSTFIX,N0|N1|/|,A,B\n", {7, 0}).divided_by_zero);
  BOOST_TEST((value("PRESET,PAPI_FP_OPS,DERIVED_POSTFIX,N0|N5|+|,A\n", {7}).ending ==
              PresetValue::Ending::undefined));
  BOOST_TEST(
      (value("PRESET,PAPI_FP_OPS,DERIVED_POSTFIX,N0|N9|+|,A\n", {7}).ending == PresetValue::Ending::dies));
}

namespace {

PresetValue run(const std::string& postfix, const std::vector<long long>& counts) {
  Preset preset;
  preset.type = Derived::postfix;
  preset.postfix = postfix;
  return evaluate(preset, counts, 1000);
}

} // namespace

BOOST_AUTO_TEST_CASE(formulas_are_evaluated_as_by_papi) {
  BOOST_TEST(run("N0|N1|*|7|/|", {320, 322}).value == 14720);
  BOOST_TEST(run("N0|#|*|", {2}).value == 2000000000);
  BOOST_TEST((run("N0|N1|", {1, 2}).ending == PresetValue::Ending::dies));
  BOOST_TEST((run("N|", {1}).ending == PresetValue::Ending::dies));
  BOOST_TEST((run("1234567890123456|", {1}).ending == PresetValue::Ending::dies));
  BOOST_TEST((run("1|1|1|1|1|1|1|1|1|", {1}).ending == PresetValue::Ending::dies));
  BOOST_TEST((run("N3|", {1}).ending == PresetValue::Ending::undefined));
  const auto cut = run("N0|7|^|", {5});
  BOOST_TEST(cut.unreadable);
  BOOST_TEST(cut.value == 5);
  BOOST_TEST(run("N0|N1|/|", {1, 0}).out_of_range);
  BOOST_TEST(run("99999999999|", {1}).value == 1215752191); // atoi() keeps the low 32 bits
  BOOST_TEST(run("N0|10|/|", {-19}).value == -1);           // truncated, not rounded
  BOOST_TEST(!run("N0|", {INT64_MIN}).out_of_range);
  BOOST_TEST(run("N0|N0|+|", {INT64_MAX}).out_of_range);
}

BOOST_AUTO_TEST_CASE(algebra_and_arithmetic_agree) {
  const std::vector<formula::Quotient> operands{formula::variable(0), formula::variable(1),
                                                formula::variable(2)};
  std::mt19937 random(7);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  int compared = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    int depth = 0;
    for (int n = below(7) + 1; n > 0; --n) {
      const bool push = depth < 2 || below(2) == 0;
      text += push ? (below(3) > 0 ? "N" + std::to_string(below(3)) : std::to_string(below(5)))
                   : std::string(1, "+-*"[below(3)]);
      text += "|";
      depth += push ? 1 : -1;
    }
    for (; depth > 1; --depth)
      text += "+|";
    const std::vector<long long> counts = {below(100), below(100), below(100)};
    const auto form = formula::linear(*formula::meaning(formula::parse_rpn(text), operands));
    if (!form) continue;
    long long value = form->constant;
    for (const auto& [v, c] : form->coefficients)
      value += c * counts[static_cast<std::size_t>(v)];
    BOOST_TEST(run(text, counts).value == value, text);
    ++compared;
  }
  BOOST_TEST(compared > 500);
}
