// What recount emulate tells a program of itself.
#include "base/host/emulation.hpp"

#include <boost/test/unit_test.hpp>

#include <utility>

using namespace recount::host;

BOOST_AUTO_TEST_SUITE(emulation)

BOOST_AUTO_TEST_CASE(repetitions_are_equal_without_noise_only) {
  for (const auto& [options, expected] : {std::pair("", Emulation{}),
                                          {"rates 1\nnoise 0\n", {}},
                                          {"noise 0\nreal_time 0\nexact 1\nseed 3\n", {true, true, true}},
                                          {"real_time 1\nexact 1\n", {true, false, true}},
                                          {"noise 0.01\nexact 1\n", {true, true, false}},
                                          {"exact 1\ninject open any EBUSY 3\n", {true, true, false}},
                                          {"exact 1\ninject open any EBUSY 0\n", {true, true, true}}}) {
    const Emulation found = parse_emulation(options);
    BOOST_TEST_INFO(options);
    BOOST_TEST(found.exact == expected.exact);
    BOOST_TEST(found.clock == expected.clock);
    BOOST_TEST(found.repeatable == expected.repeatable);
  }
}

BOOST_AUTO_TEST_SUITE_END()
