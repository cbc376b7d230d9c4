// Addresses as users write them.
#include "commands/watch/hub.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using recount::watch::parse_address;

BOOST_AUTO_TEST_SUITE(address)

BOOST_AUTO_TEST_CASE(port_alone_is_local) {
  for (const char* text : {"4711", ":4711", "localhost:4711"}) {
    const auto at = parse_address(text);
    BOOST_TEST(!at.local);
    BOOST_TEST(at.host == "localhost");
    BOOST_TEST(at.port == "4711");
  }
}

BOOST_AUTO_TEST_CASE(hosts_are_parsed) {
  BOOST_TEST(parse_address("0.0.0.0:0").host == "0.0.0.0");
  BOOST_TEST(parse_address("box.example:80").host == "box.example");
  const auto six = parse_address("[::1]:4711");
  BOOST_TEST(six.host == "::1");
  BOOST_TEST(six.port == "4711");
}

BOOST_AUTO_TEST_CASE(slash_makes_a_path) {
  BOOST_TEST(parse_address("./watch").path == "./watch");
  BOOST_TEST(parse_address("/tmp/a:1").path == "/tmp/a:1");
  BOOST_TEST(parse_address("unix:watch").path == "watch");
  BOOST_TEST(parse_address("unix:watch").local);
}

BOOST_AUTO_TEST_CASE(invalid_addresses_are_rejected) {
  for (const std::string text : {"", "x", "localhost", "localhost:", ":", "host:65536", "host:-1", "host:1x",
                                 "unix:", "[]:1", "999999999999"})
    BOOST_CHECK_THROW(static_cast<void>(parse_address(text)), recount::Error);
  BOOST_CHECK_THROW(static_cast<void>(parse_address("/" + std::string(200, 'x'))), recount::Error);
}

BOOST_AUTO_TEST_SUITE_END()
