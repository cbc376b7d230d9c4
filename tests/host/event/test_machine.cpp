// This machine's own PMUs: everything that sysfs and the tables offer encodes.
#include "count/event/event_list.hpp"
#include "count/event/sysfs.hpp"
#include "skip.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(machine)

BOOST_AUTO_TEST_CASE(every_listed_encoding_is_that_of_its_name) {
  const auto events = event::list({}, event::pmus());
  BOOST_TEST(events.size() > 10U);
  std::size_t encoded = 0;
  for (const auto& one : events) {
    if (!one.event) continue;
    ++encoded;
    for (const Event& again : encode_each(one.name))
      BOOST_TEST((again.attr.config & 0xffffffffU) == (one.event->attr.config & 0xffffffffU));
  }
  BOOST_TEST(encoded > 10U);
}

BOOST_AUTO_TEST_CASE(the_types_of_dynamic_pmus_are_those_of_sysfs) {
  std::size_t found = 0;
  for (const host::Pmu& pmu : event::pmus())
    for (const auto& [name, terms] : pmu.events) {
      if (terms.find("=?") != std::string::npos) continue;
      BOOST_TEST(encode(pmu.name + "/" + name + "/").attr.type == pmu.type);
      ++found;
    }
  if (found == 0) test::skip("no PMU of this machine states events in sysfs");
}

BOOST_AUTO_TEST_CASE(an_unknown_event_is_answered_with_near_ones) {
  try {
    (void)encode("perf::PAGE-FALUTS");
    BOOST_TEST(false);
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::bad_input));
    BOOST_TEST(error.problem().fix.find("perf::PAGE-FAULTS") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
