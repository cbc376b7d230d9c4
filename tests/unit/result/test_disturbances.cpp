// Which flags make a repetition a disturbed one.
#include "run/result/observation.hpp"

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

/// Of a repetition with one flag.
std::string causes(Flag::Kind kind, std::optional<double> share) {
  result::Observation o;
  o.flags = {{kind, "text", share}};
  return texts(o);
}

} // namespace

BOOST_AUTO_TEST_CASE(more_than_one_per_cent_of_the_time_is_a_disturbance) {
  using enum Flag::Kind;
  BOOST_TEST(causes(preempted, 4.2) == "preempted 4.2 %");
  BOOST_TEST(causes(preempted, 0.4).empty());
  BOOST_TEST(causes(steal, 1.5) == "steal 1.5 %");
  BOOST_TEST(causes(throttled, 0.2).empty());
  BOOST_TEST(causes(frequency, 20) == "frequency 20 %");
  BOOST_TEST(causes(thermal, {}) == "text"); // has no share of the time
}

BOOST_AUTO_TEST_CASE(flags_without_time_are_no_disturbance) {
  using enum Flag::Kind;
  for (const auto kind : {preempted, migrated, steal, note})
    BOOST_TEST(causes(kind, {}).empty(), name_of(kind));
  for (const auto kind : {sibling_busy, sampled, note})
    BOOST_TEST(causes(kind, 40).empty(), name_of(kind));
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
