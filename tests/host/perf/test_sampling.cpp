// Samples of events whose number is known: every one of them is there.
#include "helpers.hpp"
#include "needs.hpp"
#include "target.hpp"

#include <recount/sampling.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

using namespace recount;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(sampling, *test::needs(test::no_software_events))

namespace {

struct Gathered {
  std::vector<Sample> samples;
  std::map<std::string, int> kinds;
  std::uint64_t last = 0;
  bool ordered = true;

  Sampling::Sink sink() {
    return [this](const Record& record) {
      const std::uint64_t time = std::visit([](const auto& r) { return r.time; }, record);
      ordered = ordered && time >= last;
      last = time;
      if (const auto* sample = std::get_if<Sample>(&record)) samples.push_back(*sample);
    };
  }
};

alignas(8) volatile std::uint64_t watched = 0;

__attribute__((noinline)) void write_often(int times) {
  for (int i = 0; i < times; ++i)
    watched = 1;
}

SampledEvent faults(std::uint64_t period) {
  return {encode("perf::PAGE-FAULTS"), period, 0, 0};
}

/// As one task, started and stopped around the body.
SamplingReport sampled(const SampledEvent& event, const std::function<void()>& body, Gathered& into,
                       const SamplingOptions& options = {}) {
  Sampling sampling({event}, options);
  sampling.start();
  body();
  sampling.stop();
  sampling.finish(into.sink());
  return sampling.report();
}

/// Reads while a target runs, to its end.
SamplingReport follow(Sampling& sampling, Target& target, const Sampling::Sink& sink) {
  target.go();
  while (sampling.wait(20ms))
    sampling.read(sink);
  target.join();
  sampling.finish(sink);
  return sampling.report();
}

SamplingOptions all_of(pid_t pid) {
  SamplingOptions options;
  options.pid = pid;
  options.inherit = true;
  options.follow = true;
  return options;
}

} // namespace

BOOST_AUTO_TEST_CASE(page_faults_give_count_over_period_samples) {
  for (const std::uint64_t period : {1U, 7U, 10U, 100U}) {
    FreshPages memory(2001);
    Sampling sampling({faults(period)});
    sampling.start();
    memory.touch(0, 2001);
    sampling.stop();
    Gathered got;
    sampling.finish(got.sink());
    const auto report = sampling.report();
    const std::uint64_t count = report.events[0].occurrences;
    BOOST_TEST(count >= 2001U);
    BOOST_TEST(got.samples.size() == count / period);
    BOOST_TEST(report.events[0].samples == count / period);
    BOOST_TEST(report.events[0].weight == count / period * period);
    BOOST_TEST(report.complete());
    BOOST_TEST(got.ordered);
    for (const Sample& s : got.samples) {
      BOOST_TEST(s.address != 0U);
      BOOST_TEST(s.period == period);
      BOOST_TEST(s.tid == static_cast<std::uint32_t>(gettid()));
    }
  }
}

BOOST_AUTO_TEST_CASE(breakpoints_give_count_over_period_samples, *test::needs(test::no_breakpoints)) {
  const auto name = fmt::format("mem:{:#x}/8:w", reinterpret_cast<std::uintptr_t>(&watched));
  const auto begin = reinterpret_cast<std::uintptr_t>(&write_often);
  for (const std::uint64_t period : {1U, 100U, 1000U}) {
    Gathered got;
    const auto report = sampled(
        {encode(name), period, 0, 0}, [] { write_often(10'000); }, got);
    BOOST_TEST(got.samples.size() == 10'000 / period);
    BOOST_TEST(report.events[0].occurrences == 10'000U);
    BOOST_TEST(report.complete());
    for (const Sample& s : got.samples) {
      BOOST_TEST(s.address == reinterpret_cast<std::uintptr_t>(&watched));
      BOOST_TEST(s.ip - begin < 100U);
      BOOST_TEST((s.mode == Mode::user));
    }
  }
}

BOOST_AUTO_TEST_CASE(twenty_kilohertz_lose_nothing) {
  Target target([] { spin(400ms); });
  Sampling sampling({{encode("perf::CPU-CLOCK:u"), 50'000, 0, 0}}, all_of(target.pid()));
  sampling.start();
  Gathered got;
  const auto report = follow(sampling, target, got.sink());
  const auto& event = report.events[0];
  const double kilohertz = 1e6 * static_cast<double>(event.samples) / static_cast<double>(event.running_ns);
  BOOST_TEST_MESSAGE(
      fmt::format("{} samples at {:.1f} kHz, reader {:.2f} % of the target's time", event.samples, kilohertz,
                  100.0 * static_cast<double>(report.reader_ns) / static_cast<double>(event.running_ns)));
  BOOST_TEST(report.complete());
  BOOST_TEST(event.lost.value_or(0) == 0U);
  BOOST_TEST(event.samples == got.samples.size());
  BOOST_TEST(event.samples >
             1000U); // of 8000: a busy machine serves timers late, which loses nothing that was taken
  BOOST_TEST(report.reader_ns > 0U);
}

BOOST_AUTO_TEST_CASE(every_sample_is_accounted_for_across_forks_and_threads) {
  for (const std::uint64_t period : {1U, 10U}) {
    Target target([] {
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([] { FreshPages(333).touch(0, 333); });
      for (int i = 0; i < 3; ++i)
        if (fork() == 0) {
          FreshPages(222).touch(0, 222);
          _exit(0);
        }
      for (auto& thread : threads)
        thread.join();
      while (wait(nullptr) > 0) {
      }
    });
    Sampling sampling({faults(period)}, all_of(target.pid()));
    sampling.start();
    std::map<std::uint32_t, std::uint64_t> by_thread;
    std::set<std::uint32_t> begun{static_cast<std::uint32_t>(target.pid())}, ended, processes;
    const auto report = follow(sampling, target, [&](const Record& record) {
      if (const auto* s = std::get_if<Sample>(&record)) {
        ++by_thread[s->tid];
        BOOST_TEST(begun.contains(s->tid));
      } else if (const auto* f = std::get_if<Fork>(&record)) {
        begun.insert(f->tid);
        if (f->pid != f->parent_pid) processes.insert(f->pid);
      } else if (const auto* e = std::get_if<End>(&record)) {
        ended.insert(e->tid);
      }
    });
    const auto& event = report.events[0];
    BOOST_TEST(report.complete());
    BOOST_TEST(begun.size() == 7U);
    BOOST_TEST(processes.size() == 3U);
    BOOST_TEST((begun == ended));
    BOOST_TEST(event.occurrences >= 3U * 333 + 3U * 222);
    BOOST_TEST(event.weight == event.samples * period);
    // Each task keeps a remainder below the period on each CPU.
    const std::uint64_t rest = event.occurrences - event.weight;
    const std::uint64_t places = 7 * report.rings;
    BOOST_TEST(event.occurrences >= event.weight);
    BOOST_TEST(rest <= places * (period - 1));
    if (period == 1) BOOST_TEST(by_thread.size() == 7U);
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_runs_already_with_all_its_threads) {
  int ready[2], go[2];
  BOOST_TEST_REQUIRE(pipe(ready) == 0);
  BOOST_TEST_REQUIRE(pipe(go) == 0);
  const auto body = [&] {
    FreshPages memory(101);
    char c = 0;
    if (write(ready[1], "r", 1) != 1 || read(go[0], &c, 1) != 1) _exit(1);
    memory.touch(0, 101);
  };
  Target target([&] {
    std::thread a(body), b(body), c(body);
    a.join();
    b.join();
    c.join();
  });
  target.go();
  char c = 0;
  for (int i = 0; i < 3; ++i)
    BOOST_TEST_REQUIRE(read(ready[0], &c, 1) == 1);
  Sampling sampling({faults(1)}, all_of(target.pid()));
  sampling.start();
  BOOST_TEST_REQUIRE(write(go[1], "ggg", 3) == 3);
  std::set<std::uint32_t> threads;
  const auto report = follow(sampling, target, [&](const Record& record) {
    if (const auto* s = std::get_if<Sample>(&record)) threads.insert(s->tid);
  });
  BOOST_TEST(report.events[0].samples == report.events[0].occurrences);
  BOOST_TEST(report.events[0].samples >= 303U);
  BOOST_TEST(threads.size() >= 3U);
  BOOST_TEST(report.complete());
  for (const int fd : {ready[0], ready[1], go[0], go[1]})
    close(fd);
}

BOOST_AUTO_TEST_CASE(a_program_is_followed_over_exec) {
  Target target([] { execl("/bin/true", "true", nullptr); });
  SamplingOptions options = all_of(target.pid());
  options.enable_on_exec = true;
  Sampling sampling({faults(1)}, options);
  bool exec = false, mapped = false;
  std::uint64_t before = 0;
  const auto report = follow(sampling, target, [&](const Record& record) {
    if (const auto* name = std::get_if<Name>(&record)) exec = exec || (name->exec && name->name == "true");
    if (const auto* m = std::get_if<Mapping>(&record)) mapped = mapped || m->file.ends_with("/true");
    if (std::holds_alternative<Sample>(record) && !exec) ++before;
  });
  BOOST_TEST(exec);
  BOOST_TEST(mapped);
  BOOST_TEST(report.events[0].samples > 10U);
  BOOST_TEST(report.events[0].samples == report.events[0].occurrences);
  BOOST_TEST(before < report.events[0].samples); // faults of execve itself come before the new name
}

BOOST_AUTO_TEST_CASE(a_full_ring_loses_what_it_says_it_loses) {
  FreshPages memory(5001);
  SamplingOptions options;
  options.buffer = 1;
  Gathered got;
  const auto report = sampled(
      faults(1), [&] { memory.touch(0, 5001); }, got, options);
  BOOST_TEST(!report.complete());
  BOOST_TEST(report.full > 0U);
  BOOST_TEST(report.ring_bytes == FreshPages::size());
  BOOST_TEST(got.samples.size() == report.events[0].samples);
  BOOST_TEST(got.samples.size() < 5000U);
  if (!report.events[0].lost) return skip("Linux before 6.0 does not count what is lost");
  BOOST_TEST(report.events[0].samples + *report.events[0].lost == report.events[0].occurrences);
}

BOOST_AUTO_TEST_CASE(every_sample_of_a_group_holds_all_its_values) {
  FreshPages memory(201);
  SamplingOptions options;
  options.group = true;
  Sampling sampling({{encode("perf::TASK-CLOCK"), 0, 0, 0}, faults(10)}, options);
  sampling.start();
  memory.touch(0, 201);
  sampling.stop();
  std::uint64_t seen = 0, clock = 0;
  sampling.finish([&](const Record& record) {
    const auto* s = std::get_if<Sample>(&record);
    if (!s) return;
    BOOST_TEST_REQUIRE(s->values.size() == 2U);
    BOOST_TEST(s->event == 1U);
    BOOST_TEST(s->values[1] == 10 * ++seen);
    BOOST_TEST(s->values[0] >= clock);
    clock = s->values[0];
  });
  BOOST_TEST(seen == sampling.report().events[1].occurrences / 10);
  BOOST_TEST(clock > 0U);
}

BOOST_AUTO_TEST_CASE(stopped_changed_and_started_again) {
  FreshPages memory(400);
  memory.touch(0, 1);
  Sampling sampling({faults(1)});
  Gathered got;
  sampling.start();
  memory.touch(1, 51);
  sampling.stop();
  memory.touch(51, 200); // not sampled
  sampling.read(got.sink());
  const auto first = got.samples.size();
  BOOST_TEST(first == sampling.report().events[0].occurrences);
  BOOST_TEST(first >= 50U);
  got.samples.clear(); // keeps its memory: gathering may fault no page below
  sampling.set_period(0, 5);
  BOOST_TEST(sampling.events()[0].period == 5U);
  sampling.start();
  memory.touch(200, 300);
  sampling.stop();
  sampling.finish(got.sink());
  const auto more = sampling.report().events[0].occurrences - first;
  BOOST_TEST(more >= 100U);
  // The new period begins when the old one, of a single fault, is over.
  BOOST_TEST(got.samples.size() >= more / 5);
  BOOST_TEST(got.samples.size() <= more / 5 + 1);
}

BOOST_AUTO_TEST_CASE(call_chains_and_registers) {
  FreshPages memory(11);
  SamplingOptions options;
  options.chains = true;
  options.frames = 20;
  options.user_registers = 0b111;
  Sampling sampling({faults(1)}, options);
  sampling.start();
  memory.touch(0, 11);
  sampling.stop();
  std::uint64_t seen = 0;
  sampling.finish([&](const Record& record) {
    const auto* s = std::get_if<Sample>(&record);
    if (!s) return;
    ++seen;
    BOOST_TEST(std::ranges::count(s->chain, s->ip) >= 1);
    BOOST_TEST(s->user_registers.size() == 3U);
  });
  BOOST_TEST(seen >= 11U);
}

BOOST_AUTO_TEST_CASE(what_is_mapped_already) {
  bool code = false;
  existing_mappings(getpid(), [&](const Record& record) {
    const auto& m = std::get<Mapping>(record);
    const auto at = reinterpret_cast<std::uintptr_t>(&write_often);
    code = code || (at - m.start < m.length && m.file == std::filesystem::read_symlink("/proc/self/exe"));
  });
  BOOST_TEST(code);
}

BOOST_AUTO_TEST_CASE(wrong_use_is_told) {
  BOOST_TEST(holds(message([] { Sampling({}); }), "no event has a period"));
  BOOST_TEST(holds(message([] {
                     Sampling({{encode("perf::PAGE-FAULTS"), 1, 1, 0}});
                   }),
                   "a sampling period and a frequency"));
  Event foreign = encode("perf::PAGE-FAULTS");
  foreign.present = false;
  BOOST_TEST(holds(message([&] { Sampling({{foreign, 1, 0, 0}}); }), "is not a PMU of this machine"));
  SamplingOptions gone;
  gone.pid = 0x3ffffff;
  BOOST_TEST(holds(message([&] { Sampling({faults(1)}, gone); }), "ESRCH"));
}

BOOST_AUTO_TEST_CASE(an_event_that_cannot_interrupt) {
  const auto tsc = [] { return SampledEvent{encode("msr/tsc/"), 1'000'000, 0, 0}; };
  if (const auto why = message([&] { (void)encode("msr/tsc/"); }); !why.empty()) return skip(why);
  const auto reported = message([&] { Sampling({tsc()}); });
  BOOST_TEST(holds(reported, "cannot sample it"));
}

BOOST_AUTO_TEST_SUITE_END()
