// Formulas from counts: which events are usable, which formulas are found, and which cannot be told apart.
#include "commands/propose/measured_rows.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace recount;
using propose::Fit, propose::Usability;

namespace {

using Row = std::vector<double>;

/// Three repetitions that differ by `noise`.
propose::MeasuredEvent counted(const std::string& name, const Row& counts, double noise = 0) {
  propose::MeasuredEvent made{name, {}};
  for (const double count : counts)
    made.counts.push_back({count * (1 - noise), count, count * (1 + noise)});
  return made;
}

std::vector<propose::Expected> exactly(const Row& counts) {
  std::vector<propose::Expected> all;
  for (std::size_t i = 0; i < counts.size(); ++i)
    all.push_back({i, {counts[i], counts[i]}});
  return all;
}

std::vector<propose::MeasuredEvent> some_events() {
  return {counted("A", {10000, 0, 0, 5000}), counted("B", {0, 20000, 0, 3000}),
          counted("C", {0, 0, 7000, 900}), counted("D", {4000, 4000, 9000, 77000})};
}

} // namespace

BOOST_AUTO_TEST_CASE(useless_events_are_told) {
  BOOST_TEST((propose::usability(counted("dead", {0, 0, 0})) == Usability::dead));
  BOOST_TEST((propose::usability(counted("overhead", {14, 14, 14})) == Usability::dead));
  BOOST_TEST((propose::usability(counted("constant", {5000, 5000, 5001})) == Usability::constant));
  BOOST_TEST((propose::usability(counted("noisy", {5000, 900, 80000}, 0.2)) == Usability::irreproducible));
  BOOST_TEST((propose::usability(counted("usable", {5000, 0, 80000}, 0.01)) == Usability::usable));
}

BOOST_AUTO_TEST_CASE(a_single_event_is_preferred) {
  const propose::Measured measured(some_events());
  const auto fits = measured.fits(exactly({10000, 0, 0, 5000}), {});
  BOOST_TEST_REQUIRE(fits.found.size() == 1U);
  BOOST_TEST(propose::formula_text(fits.found.front()) == "A");
  BOOST_TEST(fits.points == 4U);
  BOOST_TEST(fits.positive == 2U);
}

BOOST_AUTO_TEST_CASE(factors_and_differences_are_found) {
  const propose::Measured measured(some_events());
  BOOST_TEST(propose::formula_text(measured.fits(exactly({0, 10000, 0, 1500}), {}).found.at(0)) == "(B) / 2");
  BOOST_TEST(propose::formula_text(measured.fits(exactly({4000, 4000, 2000, 76100}), {}).found.at(0)) ==
             "D - C");
  BOOST_TEST(propose::formula_text(measured.fits(exactly({10000, 160000, 0, 29000}), {}).found.at(0)) ==
             "A + 8*B");
}

BOOST_AUTO_TEST_CASE(sums_of_many_terms_are_found) {
  const propose::Measured measured(some_events());
  const auto fits = measured.fits(exactly({14000, 44000, 37000, 91600}), {}); // A + 2 B + 4 C + D
  BOOST_TEST_REQUIRE(!fits.found.empty());
  BOOST_TEST(propose::formula_text(fits.found.front()) == "A + 2*B + 4*C + D");
}

BOOST_AUTO_TEST_CASE(nothing_is_found_where_nothing_fits_or_nothing_must_count) {
  const propose::Measured measured(some_events());
  BOOST_TEST(measured.fits(exactly({123, 456789, 3, 31}), {}).found.empty());
  BOOST_TEST(measured.fits(exactly({0, 0, 0, 0}), {}).found.empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_told_apart_is_named) {
  auto events = some_events();
  events.push_back(counted("A2", {10000, 0, 0, 5000}));    // the same everywhere
  events.push_back(counted("E", {10000, 900, 900, 5000})); // differs where nothing is expected
  const propose::Measured measured(events);
  BOOST_TEST(measured.same_as("A") == std::vector<std::string>{"A2"}, boost::test_tools::per_element());
  const std::vector<propose::Expected> two{{0, {10000, 10000}}, {3, {5000, 5000}}};
  const auto fits = measured.fits(two, {});
  BOOST_TEST(fits.found.size() == 2U); // A and E
  const auto suggested = measured.fits(two, {Fit{{{"E", 1}}, 1, 0}});
  BOOST_TEST(propose::formula_text(suggested.found.at(0)) == "E"); // of a relative
  BOOST_TEST(measured.fits(exactly({10000, 0, 0, 5000}), {Fit{{{"E", 1}}, 1, 0}}).found.size() == 1U);
}

BOOST_AUTO_TEST_CASE(noise_of_the_events_is_allowed_for_and_no_more) {
  const propose::Measured measured({counted("A", {10000, 200, 5000}, 0.01)});
  BOOST_TEST(measured.fits(exactly({10150, 200, 5000}), {}).found.size() == 1U);
  BOOST_TEST(measured.fits(exactly({10500, 200, 5000}), {}).found.empty());
}

BOOST_AUTO_TEST_CASE(rows_are_written_for_papi) {
  const auto row = [](Fit fit) { return propose::make_row("PAPI_X", fit); };
  BOOST_TEST(row({{{"A", 1}}, 1, 0}) == "PRESET,PAPI_X,NOT_DERIVED,A");
  BOOST_TEST(row({{{"A", 1}, {"B", 1}}, 1, 0}) == "PRESET,PAPI_X,DERIVED_ADD,A,B");
  BOOST_TEST(row({{{"A", -1}, {"B", 1}}, 1, 0}) == "PRESET,PAPI_X,DERIVED_SUB,B,A");
  BOOST_TEST(row({{{"A", 1}, {"B", 4}}, 1, 0}) == "PRESET,PAPI_X,DERIVED_POSTFIX,N0|N1|4|*|+|,A,B");
  BOOST_TEST(row({{{"A", 1}}, 2, 0}) == "PRESET,PAPI_X,DERIVED_POSTFIX,N0|2|/|,A");
}
