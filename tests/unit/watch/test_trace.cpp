// The history of a watch, and section marks of programs.
#include "commands/watch/message.hpp"

#include <recount/sections.h>

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

using namespace recount::watch;
using Edge = Section::Edge;

BOOST_AUTO_TEST_SUITE(trace)

namespace {
Trace trace_of_one(std::size_t most = 100) {
  Trace trace(most);
  BOOST_TEST(trace.add(Hello{"x", 100, {{"a", "/s", ""}}}));
  return trace;
}

std::vector<Message> parsed(std::string_view text) {
  std::vector<Message> all;
  parse_sections(text, 1'000'000'000, 3'000'000'000, [&](const Message& m) { all.push_back(m); });
  return all;
}

Section section(std::string_view text) {
  const auto all = parsed(text);
  BOOST_TEST_REQUIRE(all.size() == 1U);
  return std::get<Section>(all[0]);
}

/// The message of a program with this RECOUNT_SECTIONS_FD that marks `name`; its standard input is a socket.
std::string sent(const char* descriptor, const char* name) {
  int ends[2];
  BOOST_TEST_REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 0);
    ::setenv("RECOUNT_SECTIONS_FD", descriptor, 1);
    recount_section_mark(name);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  char text[512];
  const ssize_t size = ::recv(ends[0], text, sizeof text, MSG_DONTWAIT);
  for (const int end : ends)
    ::close(end);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}
} // namespace

BOOST_AUTO_TEST_CASE(mean_is_weighted_by_time) {
  auto trace = trace_of_one();
  trace.add(Interval{0, 0, 1, {10.0}});
  trace.add(Interval{1, 1, 4, {2.0}});
  trace.add(Interval{2, 4, 9, {std::nullopt}});
  const auto& sum = trace.sums()[0];
  BOOST_TEST(sum.mean() == 4.0);
  BOOST_TEST(sum.minimum == 2.0);
  BOOST_TEST(sum.maximum == 10.0);
  BOOST_TEST(sum.counted == 2U);
  BOOST_TEST(trace.number_of_intervals() == 3U);
}

BOOST_AUTO_TEST_CASE(minimum_scheduled_share_is_kept) {
  auto trace = trace_of_one();
  trace.add(Interval{0, 0, 1, {10.0}});
  BOOST_TEST(trace.sums()[0].share == 1.0);
  trace.add(Interval{1, 1, 2, {2.0}, {0.25}});
  trace.add(Interval{2, 2, 3, {2.0}, {0.5}});
  BOOST_TEST(trace.sums()[0].share == 0.25);
  BOOST_TEST(!trace.add(Interval{3, 3, 4, {2.0}, {0.5, 1.0}}));
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_and_sums_cover_all_intervals) {
  auto trace = trace_of_one(10);
  for (int i = 0; i < 1000; ++i) {
    trace.add(Interval{i, double(i), double(i + 1), {1.0}});
    trace.add(Section{Edge::begin, double(i), "s"});
  }
  BOOST_TEST(trace.intervals().size() == 10U);
  BOOST_TEST(trace.sections().size() == 10U);
  BOOST_TEST(trace.open().size() <= 64U);
  BOOST_TEST(trace.sums()[0].counted == 1000U);
}

BOOST_AUTO_TEST_CASE(sections_nest) {
  auto trace = trace_of_one();
  for (const auto& [edge, name] : {std::pair{Edge::begin, "a"},
                                   {Edge::begin, "b"},
                                   {Edge::mark, "m"},
                                   {Edge::end, "a"},
                                   {Edge::end, "never begun"}})
    trace.add(Section{edge, 1, name});
  BOOST_TEST((trace.open() == std::vector<std::string>{"b"}));
}

BOOST_AUTO_TEST_CASE(invalid_messages_are_rejected) {
  Trace trace;
  BOOST_TEST(!trace.add(Interval{0, 0, 1, {1.0}})); // before the hello
  BOOST_TEST(trace.add(Hello{"x", 100, {{"a", "/s", ""}}}));
  BOOST_TEST(!trace.add(Hello{"y", 100, {}}));
  BOOST_TEST(!trace.add(Interval{0, 0, 1, {1.0, 2.0}}));
}

BOOST_AUTO_TEST_CASE(section_lines_are_parsed) {
  const auto given = section("begin @2500000000 main loop\n");
  BOOST_TEST((given.edge == Edge::begin));
  BOOST_TEST(given.time == 1.5);
  BOOST_TEST(given.name == "main loop");
  BOOST_TEST(section("mark here").time == 2.0); // now
  BOOST_TEST(section("end x").name == "x");
  BOOST_TEST(section("begin @home work").name == "@home work");
  BOOST_TEST(section("mark @").name == "@");
  BOOST_TEST(parsed("begin a\nend a\nbegin b\n").size() == 3U);
  const auto dropped = parsed("dropped 17\n");
  BOOST_TEST(std::get<Dropped>(dropped.at(0)).lines == 17U);
  BOOST_TEST(std::get<Dropped>(dropped.at(0)).by_program);
}

BOOST_AUTO_TEST_CASE(header_writes_one_line_to_a_valid_descriptor) {
  BOOST_TEST(section(sent("0", "a b")).name == "a b");
  BOOST_TEST(section(sent("0", "a\nend b")).name == "a");
  BOOST_TEST(section(sent("0", std::string(300, 'x').c_str())).name.size() == 200U);
  for (const char* invalid : {"", "none", "0x", "-1", "4294967296"})
    BOOST_TEST(sent(invalid, "a").empty());
}

BOOST_AUTO_TEST_CASE(times_are_clamped_to_the_watch) {
  BOOST_TEST(section("mark @99999999999999 x").time == 2.0);
  BOOST_TEST(section("mark @1 x").time == 0.0);
}

BOOST_AUTO_TEST_CASE(any_program_output_is_harmless) {
  BOOST_TEST(parsed("").empty());
  BOOST_TEST(parsed("begin\n\nfoo bar\nbegin \ndropped x\n").empty());
  BOOST_TEST(section("begin " + std::string(4000, 'x')).name.size() == 200U);
}

BOOST_AUTO_TEST_SUITE_END()
