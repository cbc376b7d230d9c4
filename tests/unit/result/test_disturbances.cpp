// Which flags make a repetition a disturbed one.
#include "result/observation.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(disturbed_repetitions)

namespace {

std::string texts(const result::Observation& o) {
  std::string all;
  for (const Flag& one : result::disturbances(o))
    all += (all.empty() ? "" : "; ") + one.text;
  return all;
}

/// A repetition of 2 seconds with one flag, as a file of recount-results/1 has it; the causes as text.
std::string causes(const std::string& flag, bool timed = true) {
  const std::string line =
      R"({"type":"observation","run":"R","kernel":"k","params":{},"repetition":0,"witness":"clock",)"
      R"("metric":"seconds",)" +
      std::string(timed ? R"("value":2.0)" : R"("value":null,"reason":"none")") + R"(,"flags":[")" + flag +
      R"("]})";
  return texts(std::get<result::Observation>(result::parse_line(line, "f:1")));
}

} // namespace

BOOST_AUTO_TEST_CASE(more_than_one_per_cent_of_the_time_is_a_disturbance) {
  BOOST_TEST(causes("preempted 3 times (4.2 %)") == "preempted 4.2 %");
  BOOST_TEST(causes("preempted 600 times (0.4 %)").empty());
  BOOST_TEST(causes("steal 30 ms (1.5 %)") == "steal 1.5 %");
  BOOST_TEST(causes("throttled 5 ms (0.2 %)").empty());
  BOOST_TEST(causes("frequency 3000 to 2400 MHz") == "frequency 20 %");
  BOOST_TEST(causes("thermal throttling") == "thermal throttling");
}

BOOST_AUTO_TEST_CASE(flags_of_older_files_have_milliseconds) {
  BOOST_TEST(causes("steal 30 ms") == "steal 1.5 %"); // of 2 s
  BOOST_TEST(causes("steal 10 ms").empty());
  BOOST_TEST(causes("throttled 500 ms") == "throttled 25 %");
  BOOST_TEST(causes("steal 30 ms", false).empty()); // of how much is not known
}

BOOST_AUTO_TEST_CASE(flags_without_time_are_no_disturbance) {
  for (const char* flag :
       {"preempted 3 times", "migrated", "sibling busy 40 %", "", "steal", "placement (50 %)"})
    BOOST_TEST(causes(flag).empty(), flag);
}

BOOST_AUTO_TEST_CASE(several_causes_are_listed) {
  result::Observation o;
  o.flags = {{Flag::Kind::steal, "steal 10 ms (10 %)", 10.0},
             {Flag::Kind::preempted, "preempted 2 times (0.1 %)", 0.1},
             {Flag::Kind::throttled, "throttled 4 ms (4 %)", 4.0},
             {Flag::Kind::note, "counted in pass 2 of 3"}};
  BOOST_TEST(texts(o) == "steal 10 %; throttled 4 %");
}

BOOST_AUTO_TEST_SUITE_END()
