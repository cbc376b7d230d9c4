// Which return belongs to which entry, by hand-made hits.
#include "commands/profile/function_recording.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace recount::profile;

BOOST_AUTO_TEST_SUITE(calls)

namespace {

/// Hits of one thread with one counter, in order of time.
class Story {
public:
  explicit Story(bool by_cpu = true) : calls(1, by_cpu) {}
  Story& enter(std::uint64_t stack, std::uint64_t value) { return hit(false, stack, value); }
  Story& leave(std::uint64_t stack, std::uint64_t value) { return hit(true, stack, value); }
  Story& on_cpu(std::uint32_t cpu) {
    cpu_ = cpu;
    return *this;
  }
  Story& in_thread(std::uint32_t tid) {
    tid_ = tid;
    return *this;
  }
  Story& migrate() {
    ++migrations_;
    return *this;
  }
  Calls calls;

private:
  Story& hit(bool returns, std::uint64_t stack, std::uint64_t value) {
    CallHit h;
    h.returns = returns;
    h.tid = tid_;
    h.cpu = cpu_;
    h.time = time_ += 10;
    h.stack = stack;
    h.migrations = migrations_;
    h.values = std::span(&value, 1);
    calls.add(h);
    return *this;
  }
  std::uint32_t tid_ = 1, cpu_ = 0;
  std::uint64_t time_ = 0, migrations_ = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(calls_have_their_counts) {
  Story s;
  s.enter(1000, 5).leave(1000, 8).enter(1000, 10).leave(1000, 20);
  s.calls.finish();
  BOOST_TEST(s.calls.completed == 2U);
  BOOST_TEST(s.calls.unreturned + s.calls.stray + s.calls.migrated + s.calls.recursive == 0U);
  BOOST_TEST(s.calls.totals[0] == 13U);
  BOOST_TEST(s.calls.counts[0].minimum() == 3U);
  BOOST_TEST(s.calls.counts[0].maximum() == 10U);
  BOOST_TEST(s.calls.wall.sum() == 20.0);
  BOOST_TEST(s.calls.total_wall == 20U);
}

BOOST_AUTO_TEST_CASE(recursion_counts_once_in_the_totals) {
  Story s;
  s.enter(1000, 0).enter(900, 1).enter(800, 2).leave(800, 5).leave(900, 7).leave(1000, 10);
  BOOST_TEST(s.calls.completed == 3U);
  BOOST_TEST(s.calls.recursive == 2U);
  BOOST_TEST(s.calls.totals[0] == 10U);
  BOOST_TEST(s.calls.counts[0].sum() == 3.0 + 6.0 + 10.0);
}

BOOST_AUTO_TEST_CASE(calls_left_by_longjmp_are_unreturned) {
  Story s;
  s.enter(1000, 0).leave(1000, 1); // the first returns
  s.enter(1000, 2);                // left by longjmp
  s.enter(1000, 4).leave(1000, 5); // the next returns
  s.enter(1000, 6);                // left by longjmp
  s.calls.finish();
  BOOST_TEST(s.calls.entries == 4U);
  BOOST_TEST(s.calls.completed == 2U);
  BOOST_TEST(s.calls.unreturned == 2U);
  BOOST_TEST(s.calls.recursive == 0U);
  BOOST_TEST(s.calls.totals[0] == 2U);
}

BOOST_AUTO_TEST_CASE(longjmp_past_several_frames_ends_them_all) {
  Story s;
  s.enter(1000, 0).enter(900, 1).enter(800, 2); // from the innermost, out of all but the first
  s.leave(1000, 10);
  BOOST_TEST(s.calls.completed == 1U);
  BOOST_TEST(s.calls.unreturned == 2U);
  BOOST_TEST(s.calls.totals[0] == 10U);
  s.enter(900, 11).enter(1000, 12).leave(1000, 13); // a frame further out: the first is gone
  BOOST_TEST(s.calls.unreturned == 3U);
  BOOST_TEST(s.calls.totals[0] == 11U);
}

BOOST_AUTO_TEST_CASE(tail_recursion_returns_together) {
  Story s;
  s.enter(1000, 0).enter(1000, 3).enter(1000, 5).leave(1000, 9).leave(1000, 9).leave(1000, 9);
  s.calls.finish();
  BOOST_TEST(s.calls.completed == 3U);
  BOOST_TEST(s.calls.unreturned == 0U);
  BOOST_TEST(s.calls.recursive == 2U);
  BOOST_TEST(s.calls.totals[0] == 9U);
  BOOST_TEST(s.calls.total_wall == 50U);
}

BOOST_AUTO_TEST_CASE(return_without_entry_is_stray) {
  Story s;
  s.leave(1000, 5).enter(900, 6).leave(1000, 7);
  BOOST_TEST(s.calls.stray == 2U);
  BOOST_TEST(s.calls.unreturned == 1U);
  BOOST_TEST(s.calls.completed == 0U);
  BOOST_TEST(s.calls.totals[0] == 0U);
}

BOOST_AUTO_TEST_CASE(threads_are_separate) {
  Story s;
  s.in_thread(1).enter(1000, 0).in_thread(2).enter(1000, 100).in_thread(1).leave(1000, 4).in_thread(2).leave(
      1000, 107);
  BOOST_TEST(s.calls.completed == 2U);
  BOOST_TEST(s.calls.totals[0] == 11U);
  BOOST_TEST(s.calls.recursive == 0U);
}

BOOST_AUTO_TEST_CASE(migrated_call_has_time_and_no_counts) {
  Story s;
  s.on_cpu(0).enter(1000, 50).on_cpu(1).leave(1000, 3);
  s.on_cpu(0).enter(1000, 60).migrate().leave(1000, 70); // away and back
  s.enter(1000, 80).leave(1000, 90);
  BOOST_TEST(s.calls.completed == 3U);
  BOOST_TEST(s.calls.migrated == 2U);
  BOOST_TEST(s.calls.totals[0] == 10U);
  BOOST_TEST(s.calls.counts[0].count() == 1U);
  BOOST_TEST(s.calls.wall.count() == 3U);
  Story whole(false); // counters follow the thread
  whole.on_cpu(0).enter(1000, 50).on_cpu(1).migrate().leave(1000, 53);
  BOOST_TEST(whole.calls.migrated == 0U);
  BOOST_TEST(whole.calls.totals[0] == 3U);
}

BOOST_AUTO_TEST_CASE(lost_records_forget_active_calls) {
  Story s;
  s.enter(1000, 0).enter(900, 1);
  s.calls.forget();
  s.leave(900, 5).leave(1000, 6).enter(1000, 7).leave(1000, 9);
  BOOST_TEST(s.calls.forgotten == 2U);
  BOOST_TEST(s.calls.stray == 2U);
  BOOST_TEST(s.calls.totals[0] == 2U);
}

BOOST_AUTO_TEST_CASE(end_of_thread_ends_its_calls) {
  Story s;
  s.enter(1000, 0);
  s.calls.end_thread(1);
  BOOST_TEST(s.calls.unreturned == 1U);
  s.calls.end_thread(7);
  s.calls.finish();
  BOOST_TEST(s.calls.unreturned == 1U);
}

BOOST_AUTO_TEST_CASE(active_calls_are_bounded) {
  Story s;
  for (std::uint64_t i = 0; i < 10'000; ++i)
    s.enter(1'000'000 - i, i);
  BOOST_TEST(s.calls.unreturned == 10'000U - 4096U);
  s.calls.finish();
  BOOST_TEST(s.calls.unreturned == 10'000U);
}

BOOST_AUTO_TEST_CASE(quantiles_are_exact_or_within_a_bucket) {
  Histogram s;
  BOOST_TEST(s.quantile(0.5) == 0U);
  for (std::uint64_t v = 1; v <= 20; ++v)
    s.add(v);
  BOOST_TEST(s.quantile(0.5) == 10U);
  BOOST_TEST(s.quantile(0.9) == 18U);
  BOOST_TEST(s.quantile(1) == 20U);
  Histogram large;
  for (std::uint64_t v = 1'000'000; v < 2'000'000; v += 1000)
    large.add(v);
  BOOST_TEST(std::abs(static_cast<double>(large.quantile(0.5)) - 1.5e6) < 1.5e6 / 32);
  BOOST_TEST(large.quantile(1) == large.maximum());
  large.add(~std::uint64_t{0});
  BOOST_TEST(large.maximum() == ~std::uint64_t{0});
  BOOST_TEST(large.quantile(1) >= 1'000'000U);
}

/// Probes take 2000 ns, so that up to 3000 ns per call say nothing of the function.
BOOST_AUTO_TEST_CASE(only_times_that_probes_explain_have_a_reason) {
  FunctionRecording recording;
  FunctionCalls& f = recording.functions.emplace_back("f\x1b", "m", Calls(0, false));
  f.returns = true;
  f.seen.completed = 2;
  f.seen.wall.add(1000);
  f.seen.wall.add(50000);
  f.seen.total_wall = 51000;
  f.cost.emplace().wall.add(2000);
  const auto tables = function_tables(recording);
  BOOST_TEST_REQUIRE(tables.size() == 1U);
  int of_wall = 0;
  for (const auto& datum : tables.front().data) {
    BOOST_TEST(datum.unit == "ns");
    BOOST_TEST(datum.witness == "clock");
    if (datum.quantity != "wall time") continue;
    ++of_wall;
    BOOST_TEST(datum.reason.empty() == (*datum.value > 3100), datum.statistic);
  }
  BOOST_TEST(of_wall == 6);
}

BOOST_AUTO_TEST_SUITE_END()
