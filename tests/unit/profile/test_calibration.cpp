// The instruction that represents the first one of a function.
#include "commands/profile/function_recording.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace recount::profile;

namespace {
using Bytes = std::vector<unsigned char>;
Bytes body(const Bytes& code) {
  const auto found = calibration_body(code);
  return {found.begin(), found.end()};
}
const Bytes single_stepped{0x89, 0xc0};
} // namespace

BOOST_AUTO_TEST_CASE(emulated_instructions_represent_their_class) {
  const Bytes push = body({0x55});
  BOOST_TEST((push == body({0x57, 0xc3})));
  BOOST_TEST((push == body({0x41, 0x57})));
  BOOST_TEST((push != single_stepped));
  BOOST_TEST((body({0xf3, 0x0f, 0x1e, 0xfa, 0x55}) == Bytes{0xf3, 0x0f, 0x1e, 0xfa}));
  BOOST_TEST((body({0x48, 0x83, 0xec, 0x18}) != single_stepped));
  BOOST_TEST((body({0x0f, 0x1f, 0x44, 0x00, 0x00}) == Bytes{0x90}));
  BOOST_TEST((body({0xe9, 0, 0, 0, 0}) == body({0x74, 0})));
}

BOOST_AUTO_TEST_CASE(other_instructions_are_single_stepped) {
  for (const Bytes& code : {Bytes{}, Bytes{0x58}, Bytes{0x41}, Bytes{0x41, 0x58}, Bytes{0x48, 0x89, 0xe5},
                            Bytes{0xf3, 0x0f}, Bytes{0x8d, 0x47, 0x01}, Bytes{0xea}, Bytes{0x0f, 0x90}})
    BOOST_TEST((body(code) == single_stepped));
}
