// The user's own program in a sweep: parameters, placeholders, what is refused.
#include "commands/sweep/sweep_table.hpp"
#include "run/program.hpp"

#include <boost/test/unit_test.hpp>
#include <recount/error.hpp>

namespace recount::sweep {

BOOST_AUTO_TEST_SUITE(program)

namespace {
template <class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    BOOST_TEST(!error.problem().fix.empty());
    return error.problem().subject + ": " + error.problem().cause;
  }
  return "accepted";
}
} // namespace

BOOST_AUTO_TEST_CASE(values_are_numbers_where_all_items_are) {
  using Values = std::vector<result::ParamValue>;
  using Word = std::string;
  const std::pair<const char*, Values> table[] = {
      {"n=600:1400:400", {600, 1000, 1400}},
      {"n=4K:16K:x2,1", {4096, 8192, 16384, 1}},
      {"n=1:3", {1, 2, 3}},
      {"v=simple,line", {Word("simple"), Word("line")}},
      {"v=line,line", {Word("line")}},
      {"v=1,two", {Word("1"), Word("two")}},
      {"v=0.5,2", {Word("0.5"), Word("2")}},
      {"v=2d,3d", {Word("2d"), Word("3d")}},
      {"v=a=b,--x:y", {Word("a=b"), Word("--x:y")}},
  };
  for (const auto& [text, values] : table)
    BOOST_TEST_CONTEXT(text) {
      const auto axes = parse_program_axes({text});
      BOOST_TEST((axes.front().values == values));
    }
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused) {
  const std::pair<std::vector<std::string>, const char*> table[] = {
      {{"n"}, "-P n: is not NAME=VALUES, with letters, digits and _ in NAME"},
      {{"2n=1"}, "-P 2n=1: is not NAME=VALUES, with letters, digits and _ in NAME"},
      {{"n="}, "-P n=: has no value"},
      {{"n=a,,b"}, "-P n=a,,b: an item is empty"},
      {{"n=9:3:1"}, "-P n=9:3:1: invalid range \"9:3:1\": 9 is greater than 3"},
      {{"n=1:3K"}, "-P n=1:3K: invalid range \"1:3K\": \"1:3K\" has no step"},
      {{"n=1", "n=2"}, "-P n=2: the parameter is given twice"},
      {{"n=1:101:1", "m=1:100:1"}, "-P m=1:100:1: the grid has more than 10000 points"},
  };
  for (const auto& [texts, expected] : table)
    BOOST_TEST(refusal([&] { static_cast<void>(parse_program_axes(texts)); }) == expected);
}

BOOST_AUTO_TEST_CASE(placeholders_are_filled_in_everywhere) {
  const Program program{
      {"./mm", "{impl}", "n={n}{{n}}"}, {"touch", "{n}.txt"}, {"T={n}"}, "run-{impl}", "{n}.in"};
  const Program at = program.at({{"n", 600}, {"impl", std::string("two words")}});
  BOOST_TEST(at.command == (std::vector<std::string>{"./mm", "two words", "n=600{n}"}));
  BOOST_TEST(at.prepare == (std::vector<std::string>{"touch", "600.txt"}));
  BOOST_TEST(at.environment == std::vector<std::string>{"T=600"});
  BOOST_TEST(at.folder == "run-two words");
  BOOST_TEST(at.input == "600.in");
  BOOST_TEST(program.settings().at("command") == "./mm '{impl}' 'n={n}{{n}}'");
}

BOOST_AUTO_TEST_CASE(unknown_and_unused_parameters_are_refused) {
  const auto axes = parse_program_axes({"n=1,2", "t=1"});
  const std::pair<Program, const char*> table[] = {
      {{{"./mm", "{n}", "{t}"}, {}, {}, "", ""}, "accepted"},
      {{{"./mm", "{n}"}, {}, {"T={t}"}, "", ""}, "accepted"},
      {{{"./mm", "{n}"}, {}, {}, "{t}", ""}, "accepted"},
      {{{"./mm", "{n}", "{{t}}"}, {}, {}, "", ""}, "-P t: nothing uses the parameter"},
      {{{"./mm", "{n}", "{t}", "{m}"}, {}, {}, "", ""}, "COMMAND: unknown placeholder {m}"},
      {{{"./mm", "{n}"}, {}, {"{t}"}, "", ""}, "-E {t}: is not NAME=TEXT"},
      {{}, "recount sweep -P: no command is given"},
  };
  for (const auto& [given, expected] : table)
    BOOST_TEST(refusal([&] { check_program(given, axes); }) == expected);
}

BOOST_AUTO_TEST_CASE(speed_up_is_of_the_same_repetition) {
  result::Results results;
  results.runs.emplace_back().id = "R";
  results.runs.front().plan["baseline"] = "v=a";
  const auto add = [&](const char* v, std::int64_t n, int repetition, double seconds) {
    result::Observation& o = results.observations.emplace_back();
    o.run = std::string("R");
    o.kernel = program_kernel;
    o.params = result::Params{{"v", std::string(v)}, {"n", n}};
    o.repetition = repetition;
    o.witness = Witness::clock;
    o.metric = "seconds";
    o.value = seconds;
  };
  add("a", 1, 0, 6);
  add("a", 1, 1, 10);
  add("b", 1, 0, 3);
  add("b", 1, 1, 2);
  add("b", 2, 0, 1); // its baseline failed
  const result::Results all = with_speed_up(results);
  BOOST_REQUIRE(all.observations.size() == 7);
  for (const auto& [at, value] : {std::pair(5U, 2.0), std::pair(6U, 5.0)}) {
    BOOST_TEST(all.observations[at].metric == speed_up);
    BOOST_TEST(result::as_double(all.observations[at].value).value() == value);
  }
  results.runs.front().plan.clear();
  BOOST_TEST(with_speed_up(results).observations.size() == 5);
}

BOOST_AUTO_TEST_CASE(a_contrast_of_witnesses_needs_clear_evidence) {
  const auto group = [](std::int64_t n, const Witness& witness, std::vector<double> values) {
    SweepGroup one;
    one.params = {{"n", n}};
    one.witness = witness;
    one.metric = "PAPI_L1_DCM";
    one.summary = statistics::summarise(values);
    one.values = std::move(values);
    return one;
  };
  const auto notes = program_notes(
      {group(1, Witness::perf, {100, 101, 100, 99, 100}), group(1, Witness::papi, {110, 111, 110, 109, 110}),
       group(2, Witness::perf, {100, 140, 120, 90, 150}), group(2, Witness::papi, {104, 138, 125, 92, 151})});
  BOOST_REQUIRE(notes.size() == 1);
  BOOST_TEST(notes[0] ==
             "PAPI_L1_DCM: PAPI counts 10 % more than perf (n=1), at 1 of 2 points clearly more or less: "
             "separate executions; no cause is known");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace recount::sweep
