// What recount emulate tells a program of itself.
#include "host/emulation.hpp"

#include <boost/test/unit_test.hpp>

#include <utility>

using namespace recount::host;

BOOST_AUTO_TEST_SUITE(emulation)

BOOST_AUTO_TEST_CASE(repetitions_are_equal_without_noise_only) {
  for (const auto& [options, expected] :
       {std::pair("", std::pair(false, false)), std::pair("rates 1\nnoise 0\n", std::pair(false, false)),
        std::pair("noise 0\nexact 1\nseed 3\n", std::pair(true, true)),
        std::pair("noise 0.01\nexact 1\n", std::pair(true, false)),
        std::pair("exact 1\ninject open any EBUSY 3\n", std::pair(true, false)),
        std::pair("exact 1\ninject open any EBUSY 0\n", std::pair(true, true))}) {
    const Emulation found = parse_emulation(options);
    BOOST_TEST_INFO(options);
    BOOST_TEST(found.exact == expected.first);
    BOOST_TEST(found.repeatable == expected.second);
  }
}

BOOST_AUTO_TEST_SUITE_END()
