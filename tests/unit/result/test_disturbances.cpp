// Which flags make a repetition a disturbed one.
#include "result/observation.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(disturbed_repetitions)

namespace {

/// A repetition of 2 seconds with one flag; the causes as text.
std::string causes(const std::string& flag, bool timed = true) {
  result::Observation o;
  o.metric = "seconds";
  if (timed) o.value = 2.0;
  o.flags = {flag};
  std::string text;
  for (const auto& one : result::disturbances(o))
    text += (text.empty() ? "" : "; ") + one;
  return text;
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

BOOST_AUTO_TEST_CASE(what_takes_no_time_disturbs_nothing) {
  for (const char* flag :
       {"preempted 3 times", "migrated", "sibling busy 40 %", "", "steal", "placement (50 %)"})
    BOOST_TEST(causes(flag).empty(), flag);
}

BOOST_AUTO_TEST_CASE(a_count_knows_the_time_of_its_region) {
  result::Observation o;
  o.metric = "PAPI_L1_DCM";
  o.value = std::int64_t{7};
  o.seconds = 0.1;
  o.flags = {"steal 10 ms", "preempted 2 times (0.1 %)", "throttled 4 ms (4 %)"};
  BOOST_TEST(result::disturbances(o) == (std::vector<std::string>{"steal 10 %", "throttled 4 %"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
