// Sets of ordered policies against lists that are searched from the front.
#include "model/sets.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <vector>

using recount::model::Policy;
using recount::model::SetIndex;
using recount::model::Sets;
using Entry = Sets::Entry;

BOOST_AUTO_TEST_SUITE(ordered_sets)

namespace {

/// Reference: lists by set, newest first.
class Lists {
public:
  Lists(std::uint64_t sets, std::size_t ways) : ways_(ways), lists_(sets) {}
  bool use(std::uint64_t line, bool dirty, bool first) {
    auto& list = of(line);
    const auto at = find(list, line);
    if (at == list.end()) return false;
    *at |= Entry{dirty};
    if (first) std::rotate(list.begin(), at, at + 1);
    return true;
  }
  Entry insert(std::uint64_t line, bool dirty) {
    auto& list = of(line);
    list.push_back(line << 1 | Entry{dirty});
    std::rotate(list.begin(), list.end() - 1, list.end());
    if (list.size() <= ways_) return Sets::empty;
    const Entry last = list.back();
    list.pop_back();
    return last;
  }
  Entry remove(std::uint64_t line) {
    auto& list = of(line);
    const auto at = find(list, line);
    if (at == list.end()) return Sets::empty;
    const Entry entry = *at;
    list.erase(at);
    return entry;
  }
  bool clean(std::uint64_t line) {
    auto& list = of(line);
    const auto at = find(list, line);
    const bool dirty = at != list.end() && (*at & 1) != 0;
    if (dirty) *at &= ~Entry{1};
    return dirty;
  }
  [[nodiscard]] std::vector<Entry> entries(std::uint64_t set) const {
    auto all = lists_[set];
    all.resize(ways_, Sets::empty);
    return all;
  }

private:
  std::vector<Entry>& of(std::uint64_t line) { return lists_[line % lists_.size()]; }
  static std::vector<Entry>::iterator find(std::vector<Entry>& list, std::uint64_t line) {
    return std::ranges::find_if(list, [&](Entry entry) { return entry >> 1 == line; });
  }
  std::size_t ways_;
  std::vector<std::vector<Entry>> lists_;
};

/// Few lines, so that they are met again, or many, so that they are evicted; some far apart.
void compare(std::uint64_t sets, std::size_t ways, std::uint64_t lines, bool first, unsigned seed) {
  std::mt19937_64 random(seed);
  Sets fast(SetIndex(sets), ways, first ? Policy::lru : Policy::fifo);
  Lists plain(sets, ways);
  std::vector<Entry> read(ways);
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t line = random() % lines << (seed % 3 == 0 ? 40 : 0) | random() % sets;
    const bool dirty = random() % 4 == 0;
    if (const auto chance = random() % 32; chance == 0) {
      BOOST_TEST_REQUIRE(fast.clean(line) == plain.clean(line));
    } else if (chance < 3) {
      BOOST_TEST_REQUIRE(fast.remove(line) == plain.remove(line));
    } else {
      const bool there = fast.holds(line);
      BOOST_TEST_REQUIRE(fast.use(line, dirty) == there);
      BOOST_TEST_REQUIRE(plain.use(line, dirty, first) == there);
      if (!there) BOOST_TEST_REQUIRE(fast.insert(line, dirty) == plain.insert(line, dirty));
    }
    if (step % 97 != 0) continue;
    const std::uint64_t set = random() % sets;
    fast.read(set, read);
    BOOST_TEST_REQUIRE(read == plain.entries(set), boost::test_tools::per_element());
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_order_of_uses_evicts_as_a_list) {
  unsigned seed = 0;
  for (const std::size_t ways : {1u, 2u, 8u, 33u, 48u, 64u, 96u, 500u})
    for (const std::uint64_t sets : {1u, 4u})
      for (const std::uint64_t lines : {ways, 2 * ways, 20 * ways})
        for (const bool first : {true, false})
          compare(sets, ways, lines, first, ++seed);
}

// A ring of three places, by hand: 1 2 3 come, 1 is used again, 4 evicts 2, 3 goes, 5 takes its place.
BOOST_AUTO_TEST_CASE(the_least_recently_used_of_three_leaves) {
  Sets sets(SetIndex(1), 3, Policy::lru);
  for (const std::uint64_t line : {1u, 2u, 3u})
    BOOST_TEST(sets.insert(line, false) == Sets::empty);
  BOOST_TEST(sets.use(1, true));
  BOOST_TEST(sets.insert(4, false) == Entry{2 << 1});
  BOOST_TEST(sets.remove(3) == Entry{3 << 1});
  BOOST_TEST(sets.insert(5, false) == Sets::empty);
  std::vector<Entry> entries(3);
  sets.read(0, entries);
  const std::vector<Entry> expected{5 << 1, 4 << 1, 1 << 1 | 1};
  BOOST_TEST(entries == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
