// {host}, {task} and others in names of output files.
#include "show/command/command.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(placeholders)

namespace {

std::string filled(const std::string& text, const host::Job& job) {
  return command::replace_placeholders("-o", text, job, "node7");
}

const host::Job third{"17", "0", "", 2, 4};

} // namespace

BOOST_AUTO_TEST_CASE(placeholders_are_replaced) {
  BOOST_TEST(filled("r-{host}-{job}.{step}-{task}of{tasks}.jsonl", third) == "r-node7-17.0-2of4.jsonl");
  BOOST_TEST(filled("{rank}", third) == "2");
  BOOST_TEST(filled("{node}", third) == "node7");
  BOOST_TEST(filled("{node}", {"17", "0", "n3", 2, 4}) == "n3");
}

BOOST_AUTO_TEST_CASE(text_without_placeholders_is_unchanged) {
  BOOST_TEST(filled("", third) == "");
  BOOST_TEST(filled("a}b", third) == "a}b");
  BOOST_TEST(filled("{{task}", third) == "{task}");
}

BOOST_AUTO_TEST_CASE(unknown_placeholders_are_rejected) {
  for (const char* text : {"{nodes}", "{}", "{task", "x{"})
    BOOST_CHECK_THROW(filled(text, third), Error);
  for (const char* text : {"{task}", "{rank}", "{tasks}", "{job}", "{step}"})
    BOOST_CHECK_THROW(filled(text, {}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
