// Programs of known behaviour, profiled: the right function and line, and every sample there.
#include "../../unit/symbol/fixture_lines.hpp"
#include "commands/profile/places.hpp"
#include "commands/profile/recording.hpp"
#include "count/symbol/unwinder.hpp"
#include "needs.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

using namespace recount;
using namespace recount::profile;
using recount::test::line_of;

BOOST_AUTO_TEST_SUITE(recording, *test::needs(test::no_software_events))

namespace {

int first_cpu() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(cpu), &set))
    ++cpu;
  return cpu;
}

struct Seen {
  Recording recording;
  Naming naming;
  [[nodiscard]] std::vector<ProfileRow> by(By way) const {
    return group_places(recording.places, naming, way);
  }
  [[nodiscard]] const SampledCount& count(std::size_t event = 0) const {
    return recording.report.events[event];
  }
  /// Samples of the first event where the row says so.
  template <class Test>
  [[nodiscard]] std::uint64_t samples(By way, const Test& test) const {
    std::uint64_t sum = 0;
    for (const ProfileRow& row : by(way))
      sum += test(row) ? row.tallies[0].samples : 0;
    return sum;
  }
  [[nodiscard]] std::uint64_t in_function(const std::string& part) const {
    return samples(By::function,
                   [&](const ProfileRow& r) { return r.function.find(part) != std::string::npos; });
  }
  [[nodiscard]] std::uint64_t at_line(const std::string& file, const std::string& comment) const {
    const int line = line_of(file, comment);
    BOOST_TEST(line != 0);
    return samples(By::line,
                   [&](const ProfileRow& r) { return r.file.ends_with("/" + file) && r.line == line; });
  }
};

Seen profiled(const std::string& event, const std::vector<std::string>& words, bool chains = false,
              bool pinned = true) {
  RecordSettings settings;
  settings.events = parse_event_requests({event});
  settings.who.command = {std::string(FIXTURES) + "/profiled"};
  settings.who.command.insert(settings.who.command.end(), words.begin(), words.end());
  if (pinned) settings.who.cpu = first_cpu();
  settings.chains = chains;
  Seen seen{record(settings), {}};
  seen.naming = name_places(seen.recording.places, seen.recording.files);
  return seen;
}

} // namespace

BOOST_AUTO_TEST_CASE(cpu_time_is_attributed_to_the_busy_function) {
  const Seen seen = profiled("cpu-clock:u:freq=2000", {"spin", "300"}); // interrupts are long on a busy host
  const auto all = static_cast<double>(seen.count().samples);
  BOOST_TEST(all > 100);
  BOOST_TEST(static_cast<double>(seen.in_function("work::spin")) > 0.8 * all);
  const int line = line_of("profiled.cpp", "spin");
  const auto near = seen.samples(By::line, [&](const ProfileRow& r) {
    return r.file.ends_with("profiled.cpp") && std::abs(r.line - line) <= 1;
  });
  BOOST_TEST(static_cast<double>(near) > 0.8 * all);
  BOOST_TEST(seen.recording.report.complete());
  BOOST_TEST(shell_status(seen.recording.exit) == 0);
}

BOOST_AUTO_TEST_CASE(cpu_time_of_stripped_library_uses_its_debug_file) {
  const Seen seen = profiled("cpu-clock:freq=2000", {"library-write", "300000000"});
  const auto all = static_cast<double>(seen.count().samples);
  BOOST_TEST(all > 50);
  BOOST_TEST(static_cast<double>(seen.in_function("hidden_write")) > 0.8 * all);
  const int line = line_of("library.cpp", "hidden write");
  const auto near = seen.samples(By::line, [&](const ProfileRow& r) {
    return r.file.ends_with("library.cpp") && std::abs(r.line - line) <= 1;
  });
  BOOST_TEST(static_cast<double>(near) > 0.8 * all);
}

BOOST_AUTO_TEST_CASE(twenty_kilohertz_lose_nothing) {
  const Seen seen = profiled("cpu-clock:freq=20000", {"spin", "300"});
  BOOST_TEST(seen.recording.report.complete());
  BOOST_TEST(seen.count().lost.value_or(0) == 0U);
  BOOST_TEST(seen.recording.report.reader_ns > 0U);
  BOOST_TEST(seen.recording.places.total(0).samples == seen.count().samples);
  BOOST_TEST_MESSAGE(fmt::format("{} samples, reader {:.2f} ms", seen.count().samples,
                                 static_cast<double>(seen.recording.report.reader_ns) / 1e6));
}

BOOST_AUTO_TEST_CASE(page_faults_are_sampled_at_their_line) {
  for (const unsigned period : {1U, 10U}) {
    const Seen seen = profiled(fmt::format("page-faults:period={}", period), {"touch", "1000"});
    BOOST_TEST(seen.count().samples == seen.count().occurrences / period);
    BOOST_TEST(seen.recording.places.total(0).samples == seen.count().samples);
    BOOST_TEST(seen.at_line("profiled.cpp", "touch") == 1000 / period);
    BOOST_TEST(seen.in_function("work::touch") == 1000 / period);
  }
}

BOOST_AUTO_TEST_CASE(page_faults_of_stripped_library_use_its_debug_file) {
  const Seen seen = profiled("page-faults", {"library-touch", "400"});
  BOOST_TEST(seen.at_line("library.cpp", "hidden touch") == 400U);
  BOOST_TEST(seen.in_function("hidden_touch") == 400U);
}

BOOST_AUTO_TEST_CASE(writes_to_a_variable_are_sampled_at_their_line, *test::needs(test::no_breakpoints)) {
  for (const unsigned period : {1U, 7U}) {
    const Seen seen = profiled(fmt::format("mem:work::counter/8:w:period={}", period), {"write", "1000"});
    BOOST_TEST(seen.count().occurrences == 1000U);
    BOOST_TEST(seen.count().samples == 1000 / period);
    BOOST_TEST(seen.at_line("profiled.cpp", "plain write") == 1000 / period);
    BOOST_TEST(seen.in_function("work::write_often") == 1000 / period);
  }
}

BOOST_AUTO_TEST_CASE(inlined_writes_count_for_the_inlined_function, *test::needs(test::no_breakpoints)) {
  const Seen seen = profiled("mem:work::counter/8:w", {"inlined", "500"});
  BOOST_TEST(seen.at_line("profiled.cpp", "inlined write") == 500U);
  BOOST_TEST(seen.in_function("work::bump<long>") == 500U);
  const auto symbols = seen.by(By::symbol);
  BOOST_TEST_REQUIRE(symbols.size() == 1U);
  BOOST_TEST(symbols[0].function.find("work::write_inlined") != std::string::npos);
  BOOST_TEST(!symbols[0].inlined);
  BOOST_TEST(symbols[0].tallies[0].samples == 500U);
}

BOOST_AUTO_TEST_CASE(writes_of_a_stripped_library_are_sampled_at_their_line,
                     *test::needs(test::no_breakpoints)) {
  const Seen seen = profiled("mem:library_counter/8:w", {"library-write", "600"});
  BOOST_TEST(seen.at_line("library.cpp", "hidden write") == 600U);
  BOOST_TEST(seen.in_function("hidden_write") == 600U);
}

BOOST_AUTO_TEST_CASE(threads_and_forks_are_sampled_completely, *test::needs(test::no_breakpoints)) {
  for (const char* word : {"threads", "forks"}) {
    const Seen seen = profiled("mem:work::sink/8:w", {word, "500"});
    BOOST_TEST(seen.in_function("work::called") == 1500U);
    BOOST_TEST(seen.count().samples == seen.count().occurrences);
    BOOST_TEST(seen.recording.report.complete());
  }
}

namespace {
bool has_note(const Recording& recording, const std::string& text) {
  return std::ranges::any_of(recording.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}
} // namespace

// An inherited event of a CPU is enabled from a thread's first run on it, not while any thread runs anywhere.
BOOST_AUTO_TEST_CASE(every_number_of_threads_is_sampled_as_a_whole) {
  for (const long threads : {1, 2, 4, 20})
    for (const bool pinned : {false, true}) {
      const long each = 200 / threads;
      const Seen seen = profiled("task-clock:freq=200",
                                 {"busy", std::to_string(threads), std::to_string(each), "1"}, false, pinned);
      BOOST_TEST_CONTEXT(threads << " threads, pinned " << pinned << ": "
                                 << fmt::format("{}", fmt::join(seen.recording.notes, "; "))) {
        BOOST_TEST(seen.recording.not_counted.empty());
        BOOST_TEST(!has_note(seen.recording, "incomplete"));
        const auto present = static_cast<double>(seen.count().present_ns);
        BOOST_TEST(present > 0.95e6 * static_cast<double>(threads * each));
        // At least twice as much, were it enabled where a thread does not run; waiting for a busy CPU adds a
        // little.
        BOOST_TEST(present < 1.4 * static_cast<double>(seen.count().occurrences) + 30e6);
      }
    }
}

BOOST_AUTO_TEST_CASE(threads_shorter_than_a_period_have_a_reason) {
  const Seen seen = profiled("task-clock:freq=20", {"busy", "1", "3", "100"}, false, false);
  BOOST_TEST(seen.count().occurrences > 290'000'000U);
  BOOST_TEST(seen.count().samples < 5U);
  BOOST_TEST(has_note(seen.recording, "have no sample: each thread has sampling periods of its own"));
  const Seen long_enough = profiled("task-clock:freq=1000", {"busy", "1", "100", "2"}, false, false);
  BOOST_TEST(!has_note(long_enough.recording, "have no sample"));
}

BOOST_AUTO_TEST_CASE(call_chains_reach_main) {
  const Seen seen = profiled("cpu-clock:freq=1000", {"spin", "100"}, true);
  const std::string lines = folded(seen.recording.places, seen.naming, 0);
  BOOST_TEST(lines.find("main;work::spin(long) ") != std::string::npos);
}

namespace {
/// Page faults of touch_page() whose chain is that of the source, and all of them.
std::pair<std::uint64_t, std::uint64_t> whole_chains(const Recording& recording, const Naming& naming) {
  const std::string expected =
      "main;(anonymous namespace)::outer(char*, long);(anonymous namespace)::middle(char*, "
      "long);(anonymous namespace)::inner(char*, long);(anonymous namespace)::touch_page(char*)";
  std::uint64_t whole = 0, all = 0;
  for (const auto& [names, tally] : chains_by_name(recording.places, naming, 0, "")) {
    const std::vector<std::string> outermost_first(names.rbegin(), names.rend());
    if (names.front().find("touch_page") == std::string::npos) continue;
    const std::string chain = fmt::format("{}", fmt::join(outermost_first, ";"));
    all += tally.samples;
    whole += chain.ends_with(expected) && chain.starts_with("_start;") ? tally.samples : 0;
  }
  return {whole, all};
}
} // namespace

BOOST_AUTO_TEST_CASE(chains_without_frame_pointers_are_whole) {
  if (symbol::Unwinder::registers() == 0) return; // a build or architecture without it
  RecordSettings settings;
  settings.events = parse_event_requests({"page-faults"});
  settings.who.command = {std::string(FIXTURES) + "/frameless", "300"};
  settings.chains = true;
  settings.call_graph = CallGraph::dwarf;
  Recording live = record(settings);
  const auto [whole, all] = whole_chains(live, name_places(live.places, live.files));
  BOOST_TEST(all == 300U);
  BOOST_TEST(whole == all);
  BOOST_TEST(live.report.complete());
  // By frame pointers, which it lacks, no chain has these functions.
  settings.call_graph = CallGraph::fp;
  Recording by_frames = record(settings);
  const auto [found, touched] = whole_chains(by_frames, name_places(by_frames.places, by_frames.files));
  BOOST_TEST(touched == 300U);
  BOOST_TEST(found == 0U);
}

BOOST_AUTO_TEST_CASE(status_is_that_of_the_command) {
  BOOST_TEST(shell_status(profiled("page-faults", {"exit", "7"}).recording.exit) == 7);
  RecordSettings settings;
  settings.events = parse_event_requests({"page-faults"});
  settings.who.command = {"sh", "-c", "kill -SEGV $$"};
  BOOST_TEST(shell_status(record(settings).exit) == 128 + SIGSEGV);
  settings.who.command = {"no-such-program-here"};
  BOOST_CHECK_THROW(static_cast<void>(record(settings)), process::CannotRun);
}

BOOST_AUTO_TEST_CASE(unknown_variable_suggests_the_nearest) {
  try {
    static_cast<void>(profiled("mem:counter/8:w", {"exit", "0"}));
    BOOST_FAIL("watched a variable that is not there");
  } catch (const Error& error) {
    BOOST_TEST(error.problem().fix.find("work::counter") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
