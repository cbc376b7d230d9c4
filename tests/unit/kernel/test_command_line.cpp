// Commands of the kernel external: words, places to fill in, the time that a command tells.
#include "kernel/command_line.hpp"
#include "kernel/kernel.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace recount::kernel;

BOOST_AUTO_TEST_SUITE(command_line)

namespace {
using Words = std::vector<std::string>;
}

namespace {
bool names(const Error& error, const std::string& part) {
  return error.kind() == ErrorKind::bad_input && std::string(error.what()).find(part) != std::string::npos;
}
} // namespace

BOOST_AUTO_TEST_CASE(a_line_becomes_words_without_a_shell) {
  BOOST_TEST((split_words("java -cp a/b  MatMul", "c") == Words{"java", "-cp", "a/b", "MatMul"}));
  BOOST_TEST(
      (split_words(R"(x 'a "b' "c d"e \'f g\ h '')", "c") == Words{"x", "a \"b", "c de", "'f", "g h", ""}));
  BOOST_TEST((split_words(R"(x "\"" '\' $HOME;rm `y` *)", "c") ==
              Words{"x", "\"", "\\", "$HOME;rm", "`y`", "*"})); // nothing is expanded
  BOOST_CHECK_EXCEPTION((void)split_words("a 'b", "--command"), Error,
                        [](const Error& e) { return names(e, "the quote ' is not closed"); });
  BOOST_CHECK_EXCEPTION((void)split_words("  ", "--command"), Error,
                        [](const Error& e) { return names(e, "no command"); });
}

BOOST_AUTO_TEST_CASE(places_are_filled_in) {
  BOOST_TEST((filled_in({"a{n}b{n}", "{{n}}", "}", "{m}"}, {{"n", "7"}, {"m", "{n}"}}, "c") ==
              Words{"a7b7", "{n}", "}", "{n}"})); // what is filled in is not looked at again
  BOOST_CHECK_EXCEPTION((void)filled_in({"{k}"}, {{"n", "7"}}, "c"), Error,
                        [](const Error& e) { return names(e, "unknown placeholder {k}"); });
  BOOST_CHECK_THROW((void)filled_in({"{n"}, {{"n", "7"}}, "c"), Error);
}

BOOST_AUTO_TEST_CASE(a_command_tells_its_own_time) {
  BOOST_TEST(reported_seconds("sum 12\nseconds 1.25\n").value() == 1.25);
  BOOST_TEST(reported_seconds("Time: 12.5 ms").value() == 0.0125);
  BOOST_TEST(reported_seconds("  ELAPSED = 3 s \r\n").value() == 3);
  BOOST_TEST(reported_seconds("time 1 s\ntime 2 s\nbye").value() == 2); // the last one
  for (const char* none : {"", "seconds", "seconds x", "seconds -1", "seconds nan", "time 3 days",
                           "times 3 s", "seconds 0", "seconds 1e999", "timer: 1"})
    BOOST_TEST(!reported_seconds(none).has_value(), none);
}

BOOST_AUTO_TEST_CASE(languages_are_known_by_their_programs) {
  BOOST_TEST(guess_language("/usr/bin/java") == "Java");
  BOOST_TEST(guess_language("python3") == "Python");
  BOOST_TEST(guess_language("./mine") == "mine");
}

BOOST_AUTO_TEST_CASE(a_command_is_run) {
  const auto run = [](const std::string& command) {
    const auto instance =
        find("external")
            .prepare({{"command", command}, {"n", std::int64_t{4}}, {"variant", std::string("v")}});
    instance->region()();
    return instance->own_seconds();
  };
  BOOST_TEST(run("echo seconds 0.{n}").value() == 0.4);
  BOOST_TEST(!run("echo {variant}").has_value());
  BOOST_CHECK_EXCEPTION(run("false"), Error, [](const Error& e) {
    return e.kind() == ErrorKind::unavailable && e.problem().cause == "exit status 1";
  });
  BOOST_CHECK_THROW(run("/no/such/program"), Error);
  BOOST_CHECK_THROW((void)find("external").bytes({{"command", std::string("{x}")}}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
