#include "count/perf/record.hpp"
#include "records.hpp"

#include <boost/test/unit_test.hpp>
#include <deque>
#include <random>
#include <unistd.h>

using namespace recount::perf;
using recount::test::record;
using recount::test::Words;

BOOST_AUTO_TEST_SUITE(ring_cursor)

namespace {

/// A ring and who writes to it, as the kernel does: never beyond the tail.
struct Written {
  explicit Written(std::size_t words) : data(words), cursor(data) {}
  bool write(const Words& words) {
    if (data.size() - (head - cursor.tail()) / 8 < words.size()) return false;
    for (const std::uint64_t word : words) {
      data[(head / 8) % data.size()] = word;
      head += 8;
    }
    return true;
  }
  std::vector<std::uint64_t> take() {
    cursor.set_head(head);
    const auto front = cursor.front();
    Words words(front.begin(), front.end());
    if (!words.empty()) cursor.drop();
    return words;
  }
  std::vector<std::uint64_t> data;
  std::uint64_t head = 0;
  RingCursor cursor;
};

Words numbered(std::uint64_t number, std::size_t size) {
  return record(1, 0, Words(size - 1, number));
}

} // namespace

BOOST_AUTO_TEST_CASE(nothing_is_nothing) {
  Written ring(8);
  BOOST_TEST(ring.take().empty());
  BOOST_TEST(ring.cursor.damaged() == 0U);
}

BOOST_AUTO_TEST_CASE(what_goes_in_comes_out_however_it_wraps) {
  std::mt19937 random(7);
  Written ring(64);
  std::deque<Words> inside;
  std::uint64_t number = 0, taken = 0;
  while (taken < 5000) {
    const Words next = numbered(++number, 1 + random() % 40);
    if (random() % 2 == 0 && ring.write(next)) inside.push_back(next);
    if (random() % 2 == 0 || inside.empty()) continue;
    BOOST_TEST_REQUIRE((ring.take() == inside.front()));
    inside.pop_front();
    ++taken;
  }
  BOOST_TEST(ring.cursor.damaged() == 0U);
}

BOOST_AUTO_TEST_CASE(a_record_as_large_as_the_ring) {
  Written ring(16);
  BOOST_TEST(ring.write(numbered(1, 5)));
  BOOST_TEST(!ring.take().empty());
  const Words all = numbered(2, 16);
  BOOST_TEST_REQUIRE(ring.write(all));
  BOOST_TEST((ring.take() == all));
}

BOOST_AUTO_TEST_CASE(looking_twice_shows_the_same) {
  Written ring(8);
  for (int i = 0; i < 5; ++i) {
    ring.write(numbered(1, 3));
    ring.write(numbered(2, 3));
    ring.cursor.set_head(ring.head);
    const auto first = ring.cursor.front();
    const Words once(first.begin(), first.end());
    const auto again = ring.cursor.front();
    BOOST_TEST((once == Words(again.begin(), again.end())));
    ring.take();
    ring.take();
  }
}

BOOST_AUTO_TEST_CASE(full_means_no_room_for_another) {
  Written ring(16);
  for (int i = 0; i < 2; ++i)
    ring.write(numbered(1, 5));
  BOOST_TEST(!ring.take().empty());
  BOOST_TEST(!ring.cursor.full()); // 6 of 16 words were free
  for (int i = 0; i < 2; ++i)
    ring.write(numbered(1, 5));
  BOOST_TEST(!ring.take().empty()); // 1 word was free
  BOOST_TEST(ring.cursor.full());
  while (!ring.take().empty()) {
  }
  BOOST_TEST(ring.cursor.full()); // it was, once
}

BOOST_AUTO_TEST_CASE(lengths_that_lie_are_skipped_and_told) {
  for (const std::uint16_t size : std::initializer_list<std::uint16_t>{0, 4, 7, 12, 0xfff8, 0xffff}) {
    Written ring(16);
    Words bad = numbered(1, 2);
    auto* header = reinterpret_cast<perf_event_header*>(bad.data());
    header->size = size;
    ring.write(bad);
    BOOST_TEST(ring.take().empty());
    BOOST_TEST(ring.cursor.damaged() == 1U);
    ring.write(numbered(5, 4)); // what comes later is read again
    BOOST_TEST((ring.take() == numbered(5, 4)));
  }
}

BOOST_AUTO_TEST_CASE(heads_that_lie) {
  Written ring(16);
  ring.cursor.set_head(8 * 17); // more than fits
  BOOST_TEST(ring.cursor.damaged() == 1U);
  BOOST_TEST(ring.cursor.front().empty());
  ring.cursor.set_head(8 * 17 + 3); // between words
  BOOST_TEST(ring.cursor.damaged() == 2U);
  BOOST_TEST(ring.cursor.front().empty());
  ring.cursor.set_head(8); // back
  BOOST_TEST(ring.cursor.damaged() == 3U);
  BOOST_TEST(ring.cursor.front().empty());
}

BOOST_AUTO_TEST_CASE(sizes_of_rings) {
  BOOST_TEST(ring_bytes(0, 1) == 2U << 20);
  BOOST_TEST(ring_bytes(0, 64) == 1U << 20);
  BOOST_TEST(ring_bytes(0, 100'000) == 128U << 10);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  BOOST_TEST(ring_bytes(page + 1, 1) == 2 * page);
  BOOST_TEST(ring_bytes(1, 1) == page);
}

BOOST_AUTO_TEST_SUITE_END()
