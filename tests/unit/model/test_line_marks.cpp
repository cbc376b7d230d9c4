// The marks of prefetched lines against std::map: few lines that collide, so that many gaps are closed.
#include "model/line_marks.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>

using recount::model::LineMarks;

BOOST_AUTO_TEST_SUITE(line_marks)

BOOST_AUTO_TEST_CASE(as_a_map) {
  std::mt19937_64 random(1); // NOLINT: the same in every run
  for (const std::uint64_t lines : {8U, 60U, 700U, 1U << 20}) {
    LineMarks marks;
    std::map<std::uint64_t, unsigned> expected;
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t line = random() % lines << (random() % 2 * 40);
      if (random() % 2 == 0) {
        const auto mark = static_cast<unsigned>(random() % 7);
        marks.put(line, mark);
        expected.emplace(line, mark);
      } else {
        const auto there = expected.find(line);
        BOOST_REQUIRE(marks.take(line) == (there == expected.end() ? LineMarks::none : there->second));
        expected.erase(line);
      }
      BOOST_REQUIRE(marks.size() == expected.size());
    }
    std::map<std::uint64_t, unsigned> left;
    marks.sorted([&](std::uint64_t line, unsigned mark) {
      BOOST_TEST((left.empty() || left.rbegin()->first < line));
      left.emplace(line, mark);
    });
    BOOST_TEST((left == expected));
    marks.clear();
    BOOST_TEST(marks.size() == 0);
    BOOST_TEST(marks.take(3) == LineMarks::none);
  }
}

BOOST_AUTO_TEST_SUITE_END()
