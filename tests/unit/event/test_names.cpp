#include "base/glob.hpp"
#include "event/domain.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE(patterns) {
  BOOST_TEST(base::Pattern("fault").matches("perf::PAGE-FAULTS"));
  BOOST_TEST(!base::Pattern("fault*").matches("perf::PAGE-FAULTS"));
  BOOST_TEST(base::Pattern("*fault?").matches("perf::PAGE-FAULTS"));
  BOOST_TEST(base::Pattern("[mp]age-*").matches("PAGE-FAULTS"));
  BOOST_TEST(base::Pattern("").matches("anything"));
}

BOOST_AUTO_TEST_CASE(domains_at_the_end) {
  BOOST_TEST(event::split_domain("x:y:u").name == "x:y");
  BOOST_TEST((event::split_domain("x:ku").domain == Domain::all));
  BOOST_TEST(!event::split_domain("x:y").domain.has_value());
  BOOST_TEST(event::split_domain("u").name == "u");
}

BOOST_AUTO_TEST_CASE(domains_for_libpfm) {
  BOOST_TEST(event::for_libpfm("skl::L1D:REPLACEMENT").name == "skl::L1D:REPLACEMENT");
  BOOST_TEST(!event::for_libpfm("skl::L1D:REPLACEMENT").domain_given);
  BOOST_TEST(event::for_libpfm("skl::L1D:REPLACEMENT:uk:c=1").name == "skl::L1D:REPLACEMENT:u:k:c=1");
  BOOST_TEST(event::for_libpfm("x:u=1").name == "x:u=1");
  for (const char* given : {"x:u", "x:k", "x:uk", "x:u=1", "x:c=2:k=0", "x:h"})
    BOOST_TEST(event::for_libpfm(given).domain_given);
  BOOST_TEST(!event::for_libpfm("u::k").domain_given); // a table and an event, whatever they are called
}

BOOST_AUTO_TEST_SUITE_END()
