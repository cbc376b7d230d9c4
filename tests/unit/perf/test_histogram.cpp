#include <recount/error.hpp>
#include <recount/histogram.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>
#include <numeric>

using namespace recount;

BOOST_AUTO_TEST_SUITE(histogram)

namespace {

Histogram one(std::uint64_t start, std::size_t buckets, std::uint32_t scale,
              const HistogramOptions& options = {}) {
  return Histogram({{start, buckets, scale}}, options);
}

std::uint64_t sum(const Histogram& h) {
  std::uint64_t all = 0;
  for (std::size_t r = 0; r < h.ranges().size(); ++r)
    for (std::size_t b = 0; b < h.ranges()[r].buckets; ++b)
      all += h.value(r, b);
  return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(scales) {
  // Bytes a bucket: 131072 / scale (profil(3)).
  for (const auto& [scale, bytes] : {std::pair{131072U, 1U}, {65536U, 2U}, {32768U, 4U}, {16384U, 8U}}) {
    auto h = one(1000, 100, scale);
    for (std::uint64_t a = 990; a < 2000; ++a)
      h.add(a);
    BOOST_TEST(h.totals().counted == 100U * bytes);
    BOOST_TEST(h.totals().outside == 1010U - 100U * bytes);
    for (std::size_t b = 0; b < 100; ++b)
      BOOST_TEST(h.value(0, b) == bytes);
  }
}

BOOST_AUTO_TEST_CASE(addresses_of_a_bucket_are_those_that_fall_into_it) {
  for (const std::uint32_t scale : {131072U, 65536U, 50000U, 3U, 100000U}) {
    auto h = one(0x1000, 50, scale);
    for (const std::size_t bucket : {0U, 1U, 7U, 49U}) {
      const auto [first, beyond] = h.addresses(0, bucket);
      h.clear();
      h.add(first);
      h.add(beyond - 1);
      BOOST_TEST(h.value(0, bucket) == 2U);
      h.add(first - 1);
      h.add(beyond);
      BOOST_TEST(h.value(0, bucket) == 2U);
    }
  }
}

BOOST_AUTO_TEST_CASE(everything_in_one_bucket) {
  auto h = one(0, 4, 2);
  for (const std::uint64_t a : {std::uint64_t{0}, std::uint64_t{12345}, ~std::uint64_t{0}})
    h.add(a);
  BOOST_TEST(h.value(0, 0) == 3U);
}

BOOST_AUTO_TEST_CASE(high_addresses_do_not_wrap_around) {
  auto h = one(0x400000, 16, 131072);
  h.add(0x400000 + (std::uint64_t{1} << 47)); // times 2^17 this is 0 in 64 bits
  BOOST_TEST(h.totals().outside == 1U);
}

BOOST_AUTO_TEST_CASE(the_range_that_starts_last_takes_an_address) {
  Histogram h({{2000, 10, 131072}, {1000, 2000, 131072}, {1500, 5, 131072}});
  h.add(1499);
  h.add(1500); // a range holds its own start
  h.add(1505); // behind the buckets of the range at 1500, though the one at 1000 has one for it
  h.add(2000);
  h.add(999);
  BOOST_TEST(h.value(1, 499) == 1U);
  BOOST_TEST(h.value(2, 0) == 1U);
  BOOST_TEST(h.value(0, 0) == 1U);
  BOOST_TEST(h.totals().outside == 2U);
}

BOOST_AUTO_TEST_CASE(bits_of_buckets) {
  HistogramOptions options;
  for (const unsigned bits : {16U, 32U, 64U}) {
    options.bits = bits;
    auto h = one(0, 2, 131072, options);
    for (int i = 0; i < 70'000; ++i)
      h.add(1);
    BOOST_TEST(h.value(0, 1) == (bits == 16 ? 65535U : 70'000U));
    BOOST_TEST(h.totals().saturated == (bits == 16 ? 70'000U - 65535U : 0U));
    BOOST_TEST(h.buckets<std::uint16_t>(0).size() == (bits == 16 ? 2U : 0U));
    BOOST_TEST(h.buckets<std::uint64_t>(0).size() == (bits == 64 ? 2U : 0U));
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_exist_is_an_error) {
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  BOOST_CHECK_THROW(Histogram({{0, most, 131072}, {1, 2, 131072}}), Error); // the sum would be 1
  BOOST_CHECK_THROW(Histogram({{0, most / 2 + 1, 131072}}), Error);
  const auto h = one(0, 4, 131072);
  BOOST_CHECK_THROW((void)h.value(1, 0), Error);
  BOOST_CHECK_THROW((void)h.value(0, 4), Error);
  BOOST_CHECK_THROW((void)h.addresses(1, 0), Error);
  BOOST_CHECK_THROW((void)h.buckets<std::uint16_t>(1), Error);
}

BOOST_AUTO_TEST_CASE(weights) {
  HistogramOptions options;
  options.weighted = true;
  const auto weight = [&](std::uint64_t excess, std::uint64_t threshold) {
    auto h = one(0, 1, 131072, options);
    h.add(0, excess, threshold);
    return h.value(0, 0);
  };
  BOOST_TEST(weight(0, 25500) == 1U);
  BOOST_TEST(weight(1, 25500) == 1U);
  BOOST_TEST(weight(99, 25500) == 1U); // never 0
  BOOST_TEST(weight(200, 25500) == 2U);
  BOOST_TEST(weight(12750, 25500) == 127U);
  BOOST_TEST(weight(25500, 25500) == 255U);
  BOOST_TEST(weight(25501, 25500) == 255U);
  BOOST_TEST(weight(500, 509) == 255U); // never more
  BOOST_TEST(weight(5, 10) == 127U);    // a threshold below 255 divides nothing by zero
  BOOST_TEST(weight(2, 254) == 2U);
  options.weighted = false;
  BOOST_TEST(weight(25500, 25500) == 1U);
}

BOOST_AUTO_TEST_CASE(a_quarter_is_dropped_and_the_seed_decides_which) {
  HistogramOptions options;
  options.random = true;
  options.bits = 32;
  const auto run = [&](std::uint64_t seed) {
    options.seed = seed;
    auto h = one(0, 1000, 131072, options);
    for (std::uint64_t i = 0; i < 100'000; ++i)
      h.add(i % 1000);
    return h;
  };
  const auto a = run(7), b = run(7), c = run(8);
  BOOST_TEST(a.totals().counted + a.totals().dropped == 100'000U);
  // Binomial: standard deviation 137, so that 1000 is beyond chance.
  BOOST_TEST(a.totals().dropped > 24'000U);
  BOOST_TEST(a.totals().dropped < 26'000U);
  bool same = true, other = true;
  for (std::size_t i = 0; i < 1000; ++i) {
    same = same && a.value(0, i) == b.value(0, i);
    other = other && a.value(0, i) == c.value(0, i);
  }
  BOOST_TEST(same);
  BOOST_TEST(!other);
}

BOOST_AUTO_TEST_CASE(large_buckets_are_fed_less) {
  HistogramOptions options;
  options.compress = true;
  options.bits = 64;
  auto h = one(0, 1, 131072, options);
  for (int i = 0; i < 1'000'000; ++i)
    h.add(0);
  // d value / d samples = 1 - value / 65536, so value = 65536 (1 - exp(-samples / 65536)): all but full.
  BOOST_TEST(h.value(0, 0) > 65'000U);
  BOOST_TEST(h.value(0, 0) <= 65'536U);
  auto early = one(0, 1, 131072, options);
  for (int i = 0; i < 32'768; ++i)
    early.add(0);
  BOOST_TEST(early.value(0, 0) > 25'400U); // 65536 (1 - exp(-0.5)) = 25786, deviation below 100
  BOOST_TEST(early.value(0, 0) < 26'200U);
  BOOST_TEST(early.totals().ignored + early.totals().counted == 32'768U);
}

BOOST_AUTO_TEST_CASE(totals_add_up) {
  HistogramOptions options;
  options.random = options.compress = true;
  Histogram h({{100, 50, 65536}, {1000, 10, 131072}}, options);
  for (std::uint64_t a = 0; a < 2000; ++a)
    h.add(a);
  const auto& t = h.totals();
  BOOST_TEST(t.samples == 2000U);
  BOOST_TEST(t.counted + t.outside + t.dropped + t.ignored == t.samples);
  BOOST_TEST(sum(h) == t.counted);
  h.clear();
  BOOST_TEST(sum(h) == 0U);
  BOOST_TEST(h.totals().samples == 0U);
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
  BOOST_CHECK_THROW(Histogram({}), Error);
  BOOST_CHECK_THROW(one(0, 0, 65536), Error);
  BOOST_CHECK_THROW(one(0, 1, 0), Error);
  BOOST_CHECK_THROW(one(0, 1, 131073), Error);
  HistogramOptions odd;
  odd.bits = 8;
  BOOST_CHECK_THROW(one(0, 1, 65536, odd), Error);
  BOOST_CHECK_THROW((void)one(0, 1, 65536).value(0, 1), Error);
  BOOST_CHECK_THROW(AddressProfile({{encode("perf::PAGE-FAULTS"), 1, nullptr}}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
