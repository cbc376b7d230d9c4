// Samples added up by place, and the shares that they come to.
#include "../symbol/mapped.hpp"
#include "commands/profile/places.hpp"
#include "commands/profile/recording.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using test::mapped;
namespace recount::profile {

BOOST_AUTO_TEST_SUITE(places)

namespace {

Sample sample(std::uint64_t ip, std::size_t event = 0, Mode mode = Mode::user, std::uint64_t period = 1) {
  Sample s;
  s.event = event;
  s.ip = ip;
  s.pid = s.tid = 1;
  s.mode = mode;
  s.period = period;
  return s;
}

Located named(const std::string& module, const std::string& function, const std::string& file, int line) {
  Located at;
  at.module = module;
  at.frames = {{function, file, line, false}};
  return at;
}

} // namespace

BOOST_AUTO_TEST_CASE(processes_share_places) {
  Places p({false}, false);
  p.add(mapped(1, 0x1000, 0x1000, 0, "/a"));
  p.add(mapped(2, 0x5000, 0x1000, 0, "/a"));
  p.add(sample(0x1010));
  Sample other = sample(0x5010);
  other.pid = 2;
  p.add(other);
  BOOST_REQUIRE(p.places().size() == 1U);
  BOOST_TEST(p.tally(0)[0].samples == 2U);
  BOOST_TEST(p.places()[0].offset == 0x10U);
  BOOST_TEST(p.total(0).samples == 2U);
}

BOOST_AUTO_TEST_CASE(trap_counts_for_previous_instruction) {
  Places p({true, false}, false);
  p.add(mapped(1, 0x1000, 0x1000, 0, "/a"));
  p.add(sample(0x1010, 0));
  p.add(sample(0x1010, 1));
  BOOST_REQUIRE(p.places().size() == 2U);
  BOOST_TEST(p.places()[0].offset == 0xfU);
  BOOST_TEST(p.places()[1].offset == 0x10U);
}

BOOST_AUTO_TEST_CASE(memory_vdso_and_kernel_are_distinct) {
  Places p({false}, false);
  p.add(mapped(1, 0x1000, 0x1000, 0, "//anon"));
  p.add(mapped(1, 0x3000, 0x1000, 0, "[vdso]"));
  p.add(sample(0x1010));
  p.add(sample(0x3010));
  p.add(sample(0x2010));
  p.add(sample(0xffffffff81000000, 0, Mode::kernel));
  using enum Place::Kind;
  BOOST_TEST((p.places()[0].kind == memory && p.places()[0].offset == 0x1010));
  BOOST_TEST((p.places()[1].kind == file && p.places()[1].offset == 0x10));
  BOOST_TEST((p.places()[2].kind == unknown));
  BOOST_TEST((p.places()[3].kind == kernel));
}

BOOST_AUTO_TEST_CASE(samples_beyond_the_limit_are_counted) {
  Places p({false}, false);
  p.add(mapped(1, 0x1000, 1ULL << 40U, 0, "/a"));
  for (std::uint64_t i = 0; i < 1'000'100; ++i)
    p.add(sample(0x1000 + i));
  BOOST_TEST(p.places().size() == 1'000'001U);
  BOOST_TEST((p.places().back().kind == Place::Kind::many));
  BOOST_TEST(p.tally(p.places().size() - 1)[0].samples == 100U);
  BOOST_TEST(p.total(0).samples == 1'000'100U);
}

BOOST_AUTO_TEST_CASE(single_frames_suggest_missing_frame_pointers) {
  const auto seen = [](std::size_t frames, int samples) {
    const std::uint64_t chain[] = {PERF_CONTEXT_USER, 0x1010, 0x1020};
    Places p({false}, true);
    p.add(mapped(1, 0x1000, 0x1000, 0, "/a"));
    Sample s = sample(0x1010);
    s.chain = std::span(chain).first(1 + frames);
    for (int i = 0; i < samples; ++i)
      p.add(s);
    return missing_frame_pointers(p);
  };
  BOOST_TEST(seen(1, 20).find("20 of 20 call chains have one frame") == 0U);
  BOOST_TEST(seen(1, 20).find("-fno-omit-frame-pointer") != std::string::npos);
  BOOST_TEST(seen(2, 20).empty());
  BOOST_TEST(seen(1, 5).empty()); // too few to tell
}

BOOST_AUTO_TEST_CASE(chains_become_folded_lines) {
  Places p({false}, true);
  p.add(mapped(1, 0x1000, 0x1000, 0, "/a"));
  const std::uint64_t chain[] = {PERF_CONTEXT_USER, 0x1010, 0x1020, 0x1030};
  Sample s = sample(0x1010);
  s.chain = chain;
  p.add(s);
  p.add(s);
  s.chain = std::span(chain).first(3);
  p.add(s);
  Naming naming;
  for (const Place& place : p.places())
    naming.places.push_back(named("/a",
                                  place.offset == 0x10   ? "inner(int)"
                                  : place.offset == 0x1f ? "middle; x"
                                                         : "",
                                  "", 0));
  for (std::size_t i = 0; i < naming.places.size(); ++i)
    naming.places[i].address = p.places()[i].offset;
  BOOST_TEST(folded(p, naming, 0) == "a+0x2f;middle:_x;inner(int) 2\nmiddle:_x;inner(int) 1\n");
}

BOOST_AUTO_TEST_CASE(share_has_exact_binomial_bounds) {
  // Values of R: binom.test(3, 1000)$conf.int, binom.test(0, 10), binom.test(10, 10), binom.test(50, 100).
  const Share three = share_of(3, 1000);
  BOOST_TEST(std::abs(three.low - 0.0006190987) < 1e-8);
  BOOST_TEST(std::abs(three.high - 0.0087417) < 1e-6);
  BOOST_TEST(share_of(0, 10).low == 0.0);
  BOOST_TEST(std::abs(share_of(0, 10).high - 0.3084971) < 1e-6);
  BOOST_TEST(share_of(10, 10).high == 1.0);
  BOOST_TEST(std::abs(share_of(50, 100).low - 0.3983211) < 1e-6);
  BOOST_TEST(share_of(0, 0).value == 0.0);
  BOOST_TEST(share_of(0, 0).high == 1.0);
}

BOOST_AUTO_TEST_CASE(unequal_weights_reduce_effective_samples) {
  Places p({false}, false);
  for (int i = 0; i < 100; ++i)
    p.add(sample(1, 0, Mode::kernel, 1));
  BOOST_TEST(std::abs(p.effective(0) - 100) < 1e-9);
  p.add(sample(2, 0, Mode::kernel, 100));
  BOOST_TEST(p.effective(0) < 5.0);
  BOOST_TEST(std::abs(share_of(p.tally(1)[0], p, 0, false).value - 0.5) < 1e-9);
  BOOST_TEST(share_of(p.tally(1)[0], p, 0, true).low == share_of(p.tally(1)[0], p, 0, true).high);
}

BOOST_AUTO_TEST_CASE(rows_are_grouped_and_sorted) {
  Places p({false}, false);
  p.add(mapped(1, 0x1000, 0x1000, 0, "/lib/a"));
  for (const std::uint64_t ip : {0x1001U, 0x1002U, 0x1002U, 0x1003U, 0x1003U, 0x1003U})
    p.add(sample(ip));
  Naming naming;
  naming.places = {named("/lib/a", "f", "/s/f.cpp", 1), named("/lib/a", "f", "/s/f.cpp", 2),
                   named("/lib/a", "g", "/s/g.cpp", 3)};
  BOOST_TEST(group_places(p, naming, By::module).size() == 1U);
  const auto functions = group_places(p, naming, By::function);
  BOOST_REQUIRE(functions.size() == 2U);
  BOOST_TEST(functions[0].tallies[0].samples == 3U);
  BOOST_TEST(functions[1].tallies[0].samples == 3U);
  const auto lines = group_places(p, naming, By::line);
  BOOST_REQUIRE(lines.size() == 3U);
  BOOST_TEST(lines[0].source == "g.cpp:3");
  BOOST_TEST(lines[2].source == "f.cpp:1");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace recount::profile
