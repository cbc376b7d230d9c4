// Lines of a results file: exact both ways, and no text whatsoever gets past the parser unharmed.
#include "observed.hpp"
#include "run/result/observation.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>
#include <recount/error.hpp>

using namespace recount::result;

BOOST_AUTO_TEST_SUITE(line)

namespace {
recount::result::Observation sample() {
  return recount::test::observed(
      "stride", {{"size", std::int64_t{32768}}, {"stride", std::int64_t{64}}, {"variant", "ijk"}}, "perf",
      "PAPI_L1_DCM", std::int64_t{123}, 3);
}
recount::result::Observation again(const recount::result::Observation& o) {
  return std::get<recount::result::Observation>(
      recount::result::parse_line(recount::result::to_line(o), "f:1"));
}

std::string complaint(const std::string& text) {
  try {
    static_cast<void>(recount::result::parse_line(text, "f:7"));
  } catch (const recount::Error& error) {
    BOOST_TEST((error.kind() == recount::ErrorKind::bad_input));
    return error.what();
  }
  return "";
}
} // namespace

BOOST_AUTO_TEST_CASE(an_observation_reads_as_the_manual_shows_it) {
  BOOST_TEST(recount::result::to_line(sample()) ==
             R"({"type":"observation","run":"R","kernel":"stride","params":{"size":32768,"stride":64,)"
             R"("variant":"ijk"},"repetition":3,"witness":"perf","metric":"PAPI_L1_DCM","value":123})");
}

BOOST_AUTO_TEST_CASE(whole_values_are_exact_to_the_last_bit) {
  for (const std::int64_t v : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
                               std::int64_t{9007199254740993}, std::numeric_limits<std::int64_t>::max()}) {
    recount::result::Observation o = sample();
    o.value = v;
    BOOST_TEST(std::get<std::int64_t>(again(o).value) == v);
  }
}

BOOST_AUTO_TEST_CASE(real_values_are_exact_and_stay_real) {
  for (const double v : {0.1, 1.0, 1e-300, 5e-324, 1.7976931348623157e308, -2.5}) {
    recount::result::Observation o = sample();
    o.value = v;
    BOOST_TEST(std::get<double>(again(o).value) == v);
  }
}

BOOST_AUTO_TEST_CASE(no_value_has_a_reason_and_is_not_zero) {
  recount::result::Observation o = sample();
  o.value = {};
  o.reason = recount::Reason("no PMU", "setting = 1", "fix it", recount::ReasonCode::permission);
  const recount::result::Observation back = again(o);
  BOOST_TEST(!recount::result::as_double(back.value).has_value());
  BOOST_TEST((back.reason == o.reason));
  o = sample();
  o.value = std::numeric_limits<double>::infinity();
  BOOST_TEST(again(o).reason.get().cause == "the value is not a finite number");
}

BOOST_AUTO_TEST_CASE(all_fields_survive) {
  recount::result::Observation o = sample();
  o.accesses = 10;
  o.enabled_ns = 7;
  o.running_ns = 5;
  o.seconds = 0.25;
  o.bias = -14; // of the difference of two events
  o.nesting = recount::result::Nesting::inner;
  o.flags = {{recount::Flag::Kind::migrated, "migrated"},
             {recount::Flag::Kind::steal, "steal 30 ms (12 %)", 12.0},
             {recount::Flag::Kind::sampled, "sampled", 0.5, 40.0}};
  o.placement = {{"base", 0x7ffff0000000}, {"offset", 16}};
  const recount::result::Observation back = again(o);
  BOOST_TEST((back.params == o.params));
  BOOST_TEST((back.placement == o.placement));
  BOOST_TEST((back.accesses == o.accesses && back.enabled_ns == o.enabled_ns));
  BOOST_TEST((back.running_ns == o.running_ns && back.seconds == o.seconds && back.bias == o.bias &&
              back.nesting == o.nesting && back.flags == o.flags));
}

BOOST_AUTO_TEST_CASE(a_run_survives) {
  recount::result::Run run = recount::result::new_run();
  run.host = "h";
  run.cpu = "a \"cpu\"\n\xff";
  run.caches = {{"L1d", 32768, 64, 8}, {"L2", 1 << 20, 64, -1}};
  run.versions = {{"papi", "7.0.0"}};
  run.command = {"recount", "sweep", "a b"};
  run.seed = std::numeric_limits<std::uint64_t>::max();
  run.plan = {{"--size", "4096"}};
  run.resumes = "earlier";
  run.runs_planned = 7;
  run.planned = {{"clock stride size=4096", 7}};
  const recount::result::Run back =
      std::get<recount::result::Run>(recount::result::parse_line(recount::result::to_line(run), "f:1"));
  BOOST_TEST(back.id == run.id);
  BOOST_TEST(back.cpu == "a \"cpu\"\n\xef\xbf\xbd"); // a byte that is no UTF-8 becomes U+FFFD
  BOOST_TEST((back.caches == run.caches && back.versions == run.versions && back.command == run.command));
  BOOST_TEST(back.seed == run.seed);
  BOOST_TEST((back.plan == run.plan && back.resumes == run.resumes));
  BOOST_TEST((back.planned == run.planned && back.runs_planned == 7));
  BOOST_TEST(recount::result::new_run().id != run.id);
}

BOOST_AUTO_TEST_CASE(errors_name_place_and_cause) {
  const std::pair<const char*, const char*> table[] = {
      {"hello", "f:7: is not JSON"},
      {"[]", "f:7: is not a JSON object"},
      {"{}", "\"type\" is missing"},
      {R"({"type":1})", "\"type\" is not text"},
      {R"({"type":"song"})", "the type \"song\" is not run"},
      {R"({"type":"run","schema":"recount-results/9","run":"R"})", "the schema is \"recount-results/9\""},
      {R"({"type":"observation","run":"R","kernel":"k","params":3,"repetition":0,"witness":"w","metric":"m","value":1})",
       "\"params\" is not an object"},
      {R"({"type":"observation","run":"R","kernel":"k","params":{"n":1.5},"repetition":0,"witness":"w","metric":"m","value":1})",
       "\"params\" is not a whole number"},
      {R"({"type":"observation","run":"R","kernel":"k","params":{},"repetition":-1,"witness":"w","metric":"m","value":1})",
       "\"repetition\" is out of range"},
      {R"({"type":"observation","run":"R","kernel":"k","params":{},"repetition":0,"witness":"w","metric":"m"})",
       "neither \"value\" nor \"reason\""},
      {R"({"type":"observation","run":"R","kernel":"k","params":{},"repetition":0,"witness":"w","metric":"m","value":18446744073709551615})",
       "larger than 2^63"},
      {R"({"type":"observation","run":"R","kernel":"k","params":{},"repetition":0,"witness":"w","metric":"m","value":"1"})",
       "\"value\" is not a whole number"},
      {R"({"type":"observation","run":"R","kernel":"k","params":{},"repetition":0,"witness":"w","metric":"m","value":1,"accesses":-5})",
       "\"accesses\" is negative"},
      {R"({"type":"observation","run":"R","kernel":"k","params":{},"repetition":0,"witness":"w","metric":"m","value":1,"nesting":"over"})",
       "the nesting \"over\" is not inner"},
      {R"({"type":"run","schema":"recount-results/2","run":"R","planned":{"clock stride size=4096":-1}})",
       "\"planned\" holds a negative number"},
      {R"({"type":"failure","run":"R","kernel":"k","params":{},"repetition":0,"witness":"w"})",
       "\"reason\" is missing"},
  };
  for (const auto& [text, cause] : table) {
    const std::string said = complaint(text);
    BOOST_TEST(said.find(cause) != said.npos, text << " gave: " << said);
    BOOST_TEST(said.rfind("f:7", 0) == 0U);
  }
  BOOST_TEST(complaint(std::string("{\"type\":\0\"run\"}", 15)).find("NUL byte") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nesting_as_deep_as_a_line_is_long_is_survived) {
  BOOST_TEST(!complaint(std::string(1 << 20, '[')).empty());
  BOOST_TEST(!complaint(std::string(1 << 19, '[') + std::string(1 << 19, ']')).empty());
}

BOOST_AUTO_TEST_CASE(damaged_lines_are_refused_or_read_but_never_worse) {
  recount::result::Observation o = sample();
  o.flags = {{recount::Flag::Kind::steal, "steal 1 ms (3 %)", 3.0}};
  o.seconds = 1.5;
  recount::result::Run run = recount::result::new_run();
  run.caches = {{"L1d", 32768, 64, 8}};
  run.plan = {{"--size", "4096"}};
  const std::string originals[] = {recount::result::to_line(o), recount::result::to_line(run)};
  std::mt19937 random(4711);
  for (int i = 0; i < 20000; ++i) {
    std::string text = originals[i % 2];
    for (auto hits = 1 + random() % 3; hits > 0; --hits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, 1 + random() % 8); break;
      default: text.insert(at, 1, "{}[],:\"0-e"[random() % 10]);
      }
      if (text.empty()) text = " ";
    }
    static_cast<void>(complaint(text)); // any other exception or a crash fails the test
  }
}

BOOST_AUTO_TEST_SUITE_END()
