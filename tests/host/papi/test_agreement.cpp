// The two counts of one region, straight from Linux and through PAPI, are the same.
#include "no_papi.hpp"
#include "region.hpp"

#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <string>

using namespace recount;
using test::Pages;

BOOST_AUTO_TEST_SUITE(agreement, *test::needs(test::no_papi))

namespace {
const std::vector<std::string> faults{"perf::PAGE-FAULTS", "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS"};

struct Both {
  std::array<long long, 3> papi{};
  std::array<std::uint64_t, 3> raw{};
};

enum class Outer { raw, papi };

/// One region under both, one inside the other.
Both count(Group& raw, PapiSet& set, std::size_t pages, Outer outer) {
  Both got;
  const Pages fresh(pages);
  if (outer == Outer::raw) {
    raw.reset();
    raw.start();
    set.start();
    fresh.touch();
    set.stop(got.papi);
    raw.stop();
  } else {
    set.start();
    raw.reset();
    raw.start();
    fresh.touch();
    raw.stop();
    set.stop(got.papi);
  }
  const auto& counts = raw.read();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    BOOST_TEST_REQUIRE(counts[i].value.has_value(), counts[i].reason->cause);
    BOOST_TEST(counts[i].running_ns == counts[i].enabled_ns); // compared unscaled or not at all
    got.raw[i] = *counts[i].value;
  }
  return got;
}

void compare(Domain domain, Outer outer) {
  Group raw(faults, domain);
  PapiSet set(faults, domain);
  count(raw, set, 1, outer); // the first call of each function binds it and touches its pages
  for (const std::size_t pages : {0U, 1U, 2U, 3U, 5U, 8U, 13U, 100U, 200U, 321U, 1000U, 4096U}) {
    const Both got = count(raw, set, pages, outer);
    for (std::size_t i = 0; i < faults.size(); ++i)
      BOOST_TEST(static_cast<std::uint64_t>(got.papi[i]) == got.raw[i],
                 faults[i] << " for " << pages << " pages: " << got.papi[i] << " through PAPI, " << got.raw[i]
                           << " raw");
    BOOST_TEST(got.raw[0] == pages);
    BOOST_TEST(got.raw[2] == 0U); // nothing was read from a disk
  }
}
} // namespace

BOOST_AUTO_TEST_CASE(page_faults_with_raw_outside) {
  compare(Domain::user, Outer::raw);
  compare(Domain::all, Outer::raw);
}

BOOST_AUTO_TEST_CASE(page_faults_with_papi_outside) {
  compare(Domain::user, Outer::papi);
  compare(Domain::all, Outer::papi);
}

BOOST_AUTO_TEST_CASE(page_faults_in_regions_apart) {
  Group raw(faults, Domain::user);
  PapiSet set(faults, Domain::user);
  count(raw, set, 1, Outer::raw);
  std::array<long long, 3> papi{};
  for (const std::size_t pages : {1U, 17U, 500U}) {
    const Pages first(pages), second(pages);
    raw.reset();
    raw.start();
    first.touch();
    raw.stop();
    set.start();
    second.touch();
    set.stop(papi);
    BOOST_TEST(static_cast<std::uint64_t>(papi[0]) == raw.read()[0].value.value_or(0));
    BOOST_TEST(papi[0] == static_cast<long long>(pages));
  }
}

BOOST_AUTO_TEST_CASE(the_same_domain_gives_the_same_context_switches) {
  // A switch between the two starts, or the two stops, is counted by the outer one alone: asked again.
  const std::string name = "perf::CONTEXT-SWITCHES";
  for (const Domain domain : {Domain::user, Domain::kernel, Domain::all}) {
    Group raw({name}, domain);
    PapiSet set({name}, domain);
    bool agreed = false;
    std::array<long long, 1> papi{};
    for (int attempt = 0; attempt < 20 && !agreed; ++attempt) {
      raw.reset();
      raw.start();
      set.start();
      test::sleep_often(10);
      set.stop(papi);
      raw.stop();
      agreed = static_cast<std::uint64_t>(papi[0]) == raw.read()[0].value;
    }
    BOOST_TEST(agreed);
    BOOST_TEST((domain == Domain::user ? papi[0] == 0 : papi[0] >= 10), papi[0]);
  }
}

BOOST_AUTO_TEST_CASE(papis_own_default_hides_what_linux_does) {
  // The same name and each witness's default: the trap that makes the two seem to disagree.
  Group raw({"perf::CONTEXT-SWITCHES"});
  PapiSet set({"perf::CONTEXT-SWITCHES"});
  raw.start();
  set.start();
  test::sleep_often(5);
  const auto papi = set.stop();
  raw.stop();
  BOOST_TEST(papi[0] == 0);
  BOOST_TEST(raw.read()[0].value.value_or(0) >= 5U);
}

BOOST_AUTO_TEST_SUITE_END()
