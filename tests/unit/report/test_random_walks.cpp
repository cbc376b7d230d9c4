// Random walks over caches whose geometry is known: what reports answer about them.
#include "commands/cli/commands.hpp"
#include "random_files.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cmath>
#include <regex>

using namespace recount;
using namespace recount::test;

BOOST_AUTO_TEST_SUITE(random_walks)

namespace {

/// A cache with LRU replacement, whose size need not be a power of two.
struct Geometry {
  std::int64_t ways = 0, line = 0, sets = 0;
  [[nodiscard]] std::int64_t capacity() const { return ways * line * sets; }
  /// Misses per access of a repeated walk over `size` bytes: a set that is visited by more lines than it has
  /// ways keeps none of them.
  [[nodiscard]] double misses(std::int64_t size, std::int64_t stride) const {
    const std::int64_t distance = std::max(stride, line), lines = size / distance;
    const std::int64_t visited = std::max<std::int64_t>(1, sets / (distance / line));
    if (lines <= visited * ways) return 0;
    return stride >= line ? 1 : static_cast<double>(stride) / static_cast<double>(line);
  }
};

/// The counted misses of the kernel stride on such a machine, with gaps and noise.
result::Results random_walks(Random& random, const Geometry& cache) {
  result::Results results = stride_run();
  const double noise = chance(random, 0.5) ? 0 : 0.01, missing = chance(random, 0.5) ? 0 : 0.05;
  for (std::int64_t size = 4096; size <= 1 << 19; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2) {
      if (chance(random, missing)) continue;
      results.observations.push_back(
          walk_at(size, stride, "perf", "PAPI_L1_DCM",
                  std::round(1e6 * cache.misses(size, stride) *
                             std::exp(noise * std::normal_distribution<>()(random)))));
    }
  return results;
}

std::int64_t bytes_of(const std::string& number, const std::string& unit) {
  return std::stoll(number) * (unit == "KiB" ? 1024 : unit == "MiB" ? 1024 * 1024 : 1);
}

/// Of the questions on the cache those that are answered, and the answers that are wrong.
struct Judged {
  int answered = 0;
  std::vector<std::string> wrong;
};

Judged judge(const document::Document& document, const Geometry& cache) {
  static const std::regex size(R"(from (\d+) (B|KiB|MiB) to less than (\d+) (B|KiB|MiB))"),
      line(R"((\d+) B)"), ways(R"((\d+)(?: to (\d+))? ways)");
  Judged judged;
  for (const auto* const table : tables_in(document))
    for (const auto& row : table->rows) {
      std::smatch is;
      if (!table->caption.starts_with("Questions") || row[1].text.starts_with("not answerable")) continue;
      const auto hold = [&](bool right) {
        ++judged.answered;
        if (!right)
          judged.wrong.push_back(fmt::format("{} of {} B, {} ways, lines of {} B: {}", row[0].text,
                                             cache.capacity(), cache.ways, cache.line, row[1].text));
      };
      if (row[0].text == "L1d: size" && std::regex_match(row[1].text, is, size))
        hold(bytes_of(is[1], is[2]) <= cache.capacity() && cache.capacity() < bytes_of(is[3], is[4]));
      if (row[0].text == "L1d: line (block) size" && std::regex_match(row[1].text, is, line))
        hold(std::stoll(is[1]) == cache.line);
      if (row[0].text == "L1d: associativity" && std::regex_match(row[1].text, is, ways))
        hold(std::stoll(is[1]) <= cache.ways && cache.ways <= std::stoll(is[2].matched ? is[2] : is[1]));
    }
  return judged;
}

} // namespace

BOOST_AUTO_TEST_CASE(answers_on_a_cache_are_those_of_the_cache_that_was_walked) {
  int answered = 0, wrong = 0;
  for (int i = 0; i < cases() / 5; ++i) {
    Random random(static_cast<std::uint64_t>(1000000 + i));
    const std::int64_t ways[] = {2, 4, 8, 12, 16}, lines[] = {32, 64, 128};
    const Geometry cache{ways[random() % 5], lines[random() % 3], std::int64_t{32} << (random() % 3)};
    const result::Results results = random_walks(random, cache);
    const auto judged = judge(
        report::build_report(results, {{"random"}, "0", ""}, {cli::figures(), cli::sections()}).document,
        cache);
    answered += judged.answered;
    wrong += static_cast<int>(judged.wrong.size());
    for (const auto& text : judged.wrong)
      if (wrong <= 5) BOOST_ERROR("file " << i << ": " << text);
  }
  BOOST_TEST(wrong == 0);
  BOOST_TEST_MESSAGE(answered << " questions answered");
  if (cases() >= 100) BOOST_TEST(answered > cases() / 5);
}

BOOST_AUTO_TEST_SUITE_END()
