#include "count/papi/event_set.hpp"

#include <recount/error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using recount::Domain;
using recount::papi::join_domain;
using recount::papi::split_domain;

BOOST_AUTO_TEST_SUITE(qualifier)

namespace {
struct Case {
  const char *given, *name;
  std::optional<Domain> domain;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.given;
}

const Case cases[] = {
    {"perf::PAGE-FAULTS", "perf::PAGE-FAULTS", {}},
    {"PAGE-FAULTS", "PAGE-FAULTS", {}},
    {"perf::PAGE-FAULTS:u", "perf::PAGE-FAULTS", Domain::user},
    {"perf::PAGE-FAULTS:k", "perf::PAGE-FAULTS", Domain::kernel},
    {"perf::PAGE-FAULTS:uk", "perf::PAGE-FAULTS", Domain::all},
    {"perf::PAGE-FAULTS:k=1:u=1", "perf::PAGE-FAULTS", Domain::all},
    {"perf::PAGE-FAULTS:u=0:k=1", "perf::PAGE-FAULTS", Domain::kernel},
    {"perf::PAGE-FAULTS:u=1:k=0", "perf::PAGE-FAULTS", Domain::user},
    {"PAGE-FAULTS:k", "PAGE-FAULTS", Domain::kernel},
    // other attributes stay, whatever their first letter, and in their order
    {"skl::L1D:REPLACEMENT:u:c=1", "skl::L1D:REPLACEMENT:c=1", Domain::user},
    {"x::E:UMASK:k:KERNEL", "x::E:UMASK:KERNEL", Domain::kernel},
    {"x::E:u=2", "x::E:u=2", {}},
    {"perf_event:::perf::PAGE-FAULTS:u", "perf_event:::perf::PAGE-FAULTS", Domain::user},
};
} // namespace

BOOST_DATA_TEST_CASE(a_name_is_taken_apart, boost::unit_test::data::make(cases), c) {
  const auto split = split_domain(c.given);
  BOOST_TEST(split.name == c.name);
  BOOST_TEST((split.domain == c.domain));
}

BOOST_AUTO_TEST_CASE(no_domain_at_all_is_an_error) {
  BOOST_CHECK_THROW((void)split_domain("perf::PAGE-FAULTS:u=0:k=0"), recount::Error);
  BOOST_CHECK_THROW((void)split_domain("perf::PAGE-FAULTS:u=0"), recount::Error);
}

BOOST_AUTO_TEST_CASE(both_qualifiers_are_always_written) {
  BOOST_TEST(join_domain("E", Domain::user) == "E:u=1:k=0");
  BOOST_TEST(join_domain("E", Domain::kernel) == "E:u=0:k=1");
  BOOST_TEST(join_domain("E", Domain::all) == "E:u=1:k=1");
}

BOOST_AUTO_TEST_SUITE_END()
