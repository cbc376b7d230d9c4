// Histograms by recount and by PAPI_sprofil, of the same samples: bucket by bucket the same.
#include "no_papi.hpp"
#include "region.hpp"

#include <recount/histogram.hpp>
#include <recount/papi.hpp>

#include <papi.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_SUITE(profiling, *test::needs(test::no_papi))

namespace {

// Eight places in the code that touch pages, far enough from one another for buckets of their own.
template <int Place>
__attribute__((noinline, no_sanitize("address", "undefined"))) void touch(volatile char* at) {
  *at = Place;
  asm volatile("" ::"i"(Place));
}
using Toucher = void (*)(volatile char*);
constexpr std::array<Toucher, 8> places{touch<0>, touch<1>, touch<2>, touch<3>,
                                        touch<4>, touch<5>, touch<6>, touch<7>};
constexpr std::size_t code_bytes = 64; // more than such a function has

/// Touches fresh pages, from the places in an order that no period divides: i * i mod 8 hits some more often.
void walk(std::size_t pages) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* at = static_cast<volatile char*>(
      ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::madvise(const_cast<char*>(at), pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i)
    places[(i * i / 3 + i) % places.size()](at + i * page);
  ::munmap(const_cast<char*>(at), pages * page);
}

std::uint64_t address(Toucher of) {
  return reinterpret_cast<std::uintptr_t>(of);
}

/// The lowest place in the code, and how many bytes there are from it to the end of the highest.
std::pair<std::uint64_t, std::size_t> code() {
  const auto [low, high] = std::ranges::minmax(places, {}, address);
  return {address(low), address(high) - address(low) + code_bytes};
}

/// A range for one place. No instruction begins at its very start: PAPI ascribes that address to the range
/// before, recount to the range that begins there.
HistogramRange around(Toucher of, std::uint32_t scale) {
  return {address(of) - 1, code_bytes / 4, scale};
}

/// PAPI's generator (extras.c): the low half of a linear congruential one, whose state starts so and lives as
/// long as the process; every draw of PAPI's is matched by one of ours.
std::uint64_t papi_state = 0xdedbeef;
std::uint16_t papi_draw(std::uint64_t& /*state*/) {
  papi_state = static_cast<std::uint32_t>(1664525 * papi_state + 1013904223);
  return static_cast<std::uint16_t>(papi_state);
}

void check(int code) {
  BOOST_TEST_REQUIRE(code == PAPI_OK, PAPI_strerror(code));
}

/// Buckets as PAPI fills them, for one event; memory of 64-bit words whatever the buckets' bits.
struct PapiRanges {
  PapiRanges(const std::vector<HistogramRange>& ranges, unsigned bits) : bits_(bits) {
    for (const HistogramRange& range : ranges)
      memory_.emplace_back(range.buckets);
    for (std::size_t i = 0; i < ranges.size(); ++i)
      prof.push_back({memory_[i].data(), static_cast<unsigned>(ranges[i].buckets * bits / 8),
                      reinterpret_cast<vptr_t>(ranges[i].start), ranges[i].scale});
  }
  [[nodiscard]] std::uint64_t value(std::size_t range, std::size_t bucket) const {
    const void* at = memory_[range].data();
    if (bits_ == 16) return static_cast<const std::uint16_t*>(at)[bucket];
    if (bits_ == 32) return static_cast<const std::uint32_t*>(at)[bucket];
    return static_cast<const std::uint64_t*>(at)[bucket];
  }
  std::vector<PAPI_sprofil_t> prof;

private:
  unsigned bits_;
  std::vector<std::vector<std::uint64_t>> memory_;
};

struct Requested {
  const char* event;
  int threshold;
  std::vector<HistogramRange> ranges;
};

/// What PAPI gathers over a region.
std::vector<PapiRanges> by_papi(const std::vector<Requested>& requested, unsigned bits, int flags,
                                const auto& region) {
  papi::initialise();
  int set = PAPI_NULL;
  check(PAPI_create_eventset(&set));
  std::vector<PapiRanges> out;
  std::vector<int> codes(requested.size());
  for (std::size_t i = 0; i < requested.size(); ++i) {
    check(PAPI_event_name_to_code(requested[i].event, &codes[i]));
    check(PAPI_add_event(set, codes[i]));
    out.emplace_back(requested[i].ranges, bits);
  }
  for (std::size_t i = 0; i < requested.size(); ++i)
    check(PAPI_sprofil(out[i].prof.data(), static_cast<int>(out[i].prof.size()), set, codes[i],
                       requested[i].threshold, flags));
  check(PAPI_start(set));
  region();
  check(PAPI_stop(set, nullptr));
  for (std::size_t i = 0; i < requested.size(); ++i)
    check(PAPI_sprofil(out[i].prof.data(), static_cast<int>(out[i].prof.size()), set, codes[i], 0, 0));
  check(PAPI_cleanup_eventset(set));
  check(PAPI_destroy_eventset(&set));
  return out;
}

std::vector<Histogram> by_recount(const std::vector<Requested>& requested, const HistogramOptions& options,
                                  const auto& region) {
  std::vector<Histogram> out;
  for (const Requested& one : requested)
    out.emplace_back(one.ranges, options);
  std::vector<ProfiledEvent> events;
  for (std::size_t i = 0; i < requested.size(); ++i)
    events.push_back({encode(requested[i].event, Domain::user),
                      static_cast<std::uint64_t>(requested[i].threshold), &out[i]});
  AddressProfile profile(events);
  profile.start();
  region();
  profile.stop();
  return out;
}

int flags_of(const HistogramOptions& options) {
  const int bits = options.bits == 16   ? PAPI_PROFIL_BUCKET_16
                   : options.bits == 32 ? PAPI_PROFIL_BUCKET_32
                                        : PAPI_PROFIL_BUCKET_64;
  // PAPI 7.0 refuses RANDOM without FORCE_SW (PAPI_ENOSUPP); with it, it takes interrupts all the same.
  return bits | (options.random ? PAPI_PROFIL_RANDOM | PAPI_PROFIL_FORCE_SW : 0) |
         (options.weighted ? PAPI_PROFIL_WEIGHTED : 0) | (options.compress ? PAPI_PROFIL_COMPRESS : 0);
}

std::uint64_t sum(const auto& histogram, const std::vector<HistogramRange>& ranges) {
  std::uint64_t all = 0;
  for (std::size_t r = 0; r < ranges.size(); ++r)
    for (std::size_t b = 0; b < ranges[r].buckets; ++b)
      all += histogram.value(r, b);
  return all;
}

void same(const Histogram& ours, const PapiRanges& papi) {
  for (std::size_t r = 0; r < ours.ranges().size(); ++r)
    for (std::size_t b = 0; b < ours.ranges()[r].buckets; ++b)
      BOOST_TEST(ours.value(r, b) == papi.value(r, b));
  BOOST_TEST(sum(ours, ours.ranges()) > 0U);
}

/// Both, and every bucket the same.
void agree(const Requested& requested, HistogramOptions options, std::size_t pages) {
  const auto region = [pages] { walk(pages); };
  region(); // whatever faults for the first time has done so
  const auto papi = by_papi({requested}, options.bits, flags_of(options), region);
  options.draw = papi_draw;
  same(by_recount({requested}, options, region)[0], papi[0]);
}

/// Ranges in which a bucket has 1, 2, 4 … bytes.
HistogramRange whole(std::uint32_t scale) {
  const auto [start, bytes] = code();
  return {start, bytes * scale / 131072 + 1, scale};
}

} // namespace

BOOST_AUTO_TEST_CASE(scales_and_bits) {
  HistogramOptions options;
  for (const std::uint32_t scale : {131072U, 65536U, 32768U, 8192U, 1000U, 50'000U})
    for (const unsigned bits : {16U, 32U, 64U}) {
      options.bits = bits;
      agree({"perf::PAGE-FAULTS", 1, {whole(scale)}}, options, 500);
    }
}

BOOST_AUTO_TEST_CASE(thresholds) {
  for (const int threshold : {1, 2, 7, 13})
    agree({"perf::PAGE-FAULTS", threshold, {whole(131072)}}, {}, 2000);
}

BOOST_AUTO_TEST_CASE(everything_in_one_bucket) {
  agree({"perf::PAGE-FAULTS", 3, {{0, 1, 2}}}, {}, 500);
}

BOOST_AUTO_TEST_CASE(a_range_too_short_for_all) {
  const auto [start, bytes] = code();
  agree({"perf::PAGE-FAULTS", 1, {{start, bytes / 2, 131072}}}, {}, 1000);
}

BOOST_AUTO_TEST_CASE(several_ranges) {
  std::vector<HistogramRange> ranges;
  for (const int place : {5, 0, 3})
    ranges.push_back(around(places[static_cast<std::size_t>(place)], 32768));
  agree({"perf::PAGE-FAULTS", 1, ranges}, {}, 1000);
}

BOOST_AUTO_TEST_CASE(weighted_by_an_interrupt_that_comes_at_once) {
  HistogramOptions options;
  options.weighted = true;
  agree({"perf::PAGE-FAULTS", 300, {whole(65536)}}, options, 3000);
}

BOOST_AUTO_TEST_CASE(random_and_compressed) {
  HistogramOptions options;
  for (const unsigned bits : {16U, 64U})
    for (const auto& [random, compress] : {std::pair{true, false}, {false, true}, {true, true}}) {
      options.bits = bits;
      options.random = random;
      options.compress = compress;
      agree({"perf::PAGE-FAULTS", 1, {whole(131072)}}, options, 6000);
    }
}

BOOST_AUTO_TEST_CASE(two_events_at_once) {
  const auto region = [] { walk(3000); };
  region();
  const std::vector<Requested> requested{{"perf::PAGE-FAULTS", 4, {whole(65536)}},
                                         {"perf::MINOR-FAULTS", 5, {whole(65536)}}};
  const auto ours = by_recount(requested, {}, region);
  // PAPI by one event after the other: for an overflow of the one, PAPI 7.0 stops all events of the set, and
  // the other misses that fault.
  for (std::size_t e = 0; e < requested.size(); ++e)
    same(ours[e], by_papi({requested[e]}, 16, PAPI_PROFIL_BUCKET_16, region)[0]);
}

BOOST_AUTO_TEST_CASE(two_events_in_one_histogram) {
  walk(3000);
  Histogram both({whole(65536)});
  AddressProfile profile(
      {{encode("perf::PAGE-FAULTS:u"), 4, &both}, {encode("perf::MINOR-FAULTS:u"), 5, &both}});
  profile.start();
  walk(3000);
  profile.stop();
  BOOST_TEST(both.totals().counted == 3000U / 4 + 3000U / 5);
}

BOOST_AUTO_TEST_SUITE_END()
