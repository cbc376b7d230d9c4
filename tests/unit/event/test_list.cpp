#include "count/event/event_list.hpp"
#include "tree.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace recount;
using event::list;
using event::ListedEvent;

namespace {

struct Machine : SysfsTree {
  Machine() {
    file("msr/type", "9").file("msr/format/event", "config:0-63").file("msr/events/tsc", "event=0x00");
    file("software/type", "1");
  }
};

const ListedEvent* find(const std::vector<ListedEvent>& events, const std::string& name) {
  const auto at = std::ranges::find(events, name, &ListedEvent::name);
  return at == events.end() ? nullptr : &*at;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(listing, Machine)

BOOST_AUTO_TEST_CASE(this_machine) {
  const auto all = list({}, pmus());
  const ListedEvent* tsc = find(all, "msr/tsc/");
  BOOST_TEST_REQUIRE(tsc != nullptr);
  BOOST_TEST(tsc->prose == "event=0x00");
  BOOST_TEST(tsc->event->attr.type == 9U);
  const ListedEvent* faults = find(all, "perf::PERF_COUNT_SW_PAGE_FAULTS");
  BOOST_TEST_REQUIRE(faults != nullptr);
  BOOST_TEST(faults->reason.empty());
  BOOST_TEST(faults->event->attr.config == unsigned{PERF_COUNT_SW_PAGE_FAULTS});
}

BOOST_AUTO_TEST_CASE(an_event_with_an_unknown_word_hides_no_other) {
  file("spe/type", "20").file("spe/format/filter", "config9:0-7").file("spe/events/odd", "filter=1");
  const auto all = list({}, pmus());
  BOOST_TEST(find(all, "msr/tsc/") != nullptr);
  BOOST_TEST_REQUIRE(find(all, "spe/odd/") != nullptr);
  BOOST_TEST(find(all, "spe/odd/")->reason.cause.find("config9") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(without_a_core_pmu_the_generic_hardware_events_say_so) {
  const auto cycles = list({"perf::PERF_COUNT_HW_CPU_CYCLES", ""}, pmus());
  BOOST_TEST_REQUIRE(cycles.size() == 1U);
  BOOST_TEST((cycles[0].reason.code == ReasonCode::no_pmu));
  file("cpu/type", "4");
  BOOST_TEST(list({"perf::PERF_COUNT_HW_CPU_CYCLES", ""}, pmus())[0].reason.empty());
}

BOOST_AUTO_TEST_CASE(search) {
  BOOST_TEST(find(list({"TSC", ""}, pmus()), "msr/tsc/") != nullptr);
  BOOST_TEST(find(list({"input from disk", "perf"}, pmus()), "perf::MAJOR-FAULTS") != nullptr); // in prose
  BOOST_TEST(list({"*fault*", "perf"}, pmus()).size() >= 3U);
  BOOST_TEST(list({"no-such-thing", ""}, pmus()).empty());
  BOOST_CHECK_THROW((void)list({"", "prf"}, pmus()), Error);
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(unit_masks_that_match_alone) {
  const auto found = list({"REPLACEMENT", "skl"}, pmus());
  const ListedEvent* l1d = find(found, "skl::L1D");
  BOOST_TEST_REQUIRE(l1d != nullptr);
  BOOST_TEST(l1d->attributes.size() == 1U);
  BOOST_TEST(l1d->attributes[0].name == "REPLACEMENT");
  BOOST_TEST(list({"skl::L1D", "skl"}, pmus())[0].attributes.size() > 1U);
}
#endif

BOOST_AUTO_TEST_CASE(sources_of_this_machine_come_first) {
  const auto all = event::sources(pmus());
  BOOST_TEST(all.front().on_this_machine);
  BOOST_TEST(!all.back().on_this_machine);
  BOOST_TEST(
      std::is_partitioned(all.begin(), all.end(), [](const auto& source) { return source.on_this_machine; }));
}

BOOST_AUTO_TEST_SUITE_END()
