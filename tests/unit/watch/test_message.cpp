// Lines of watch connections: exact in both directions, and any input is harmless.
#include "commands/watch/message.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace recount::watch;

BOOST_AUTO_TEST_SUITE(message)

namespace {
Hello hello() {
  return {"./solver", 500, {{"ipc", "instructions/cycle", "no PMU"}, {"faults", "/s", ""}}};
}

template <class M>
M round_trip(const M& message) {
  const auto parsed = parse_line(to_line(message));
  BOOST_TEST_REQUIRE(parsed.has_value(), to_line(message));
  return std::get<M>(*parsed);
}
} // namespace

BOOST_AUTO_TEST_CASE(messages_survive_a_round_trip) {
  const auto h = round_trip(hello());
  BOOST_TEST(h.subject == "./solver");
  BOOST_TEST(h.interval_ms == 500);
  auto long_command = hello();
  long_command.subject = std::string(100'000, 'x');
  BOOST_TEST(!round_trip(long_command).subject.empty());
  BOOST_TEST(h.series.size() == 2U);
  BOOST_TEST(h.series[0].refused.cause == "no PMU");
  BOOST_TEST(h.series[1].unit == "/s");
  const auto i = round_trip(Interval{7, 3.5, 4.0, {std::nullopt, 0.1}});
  BOOST_TEST(i.number == 7);
  BOOST_TEST(i.begin == 3.5);
  BOOST_TEST(!i.values[0].has_value());
  BOOST_TEST(*i.values[1] == 0.1);
  BOOST_TEST(i.shares.empty());
  BOOST_TEST(
      (round_trip(Interval{0, 0, 1, {1.0, 2.0}, {1.0, 0.57}}).shares == std::vector<double>{1.0, 0.57}));
  const auto s = round_trip(Section{Section::Edge::end, 1.25, "so\"lve\n"});
  BOOST_TEST((s.edge == Section::Edge::end));
  BOOST_TEST(s.name == "so\"lve\n");
  BOOST_TEST(round_trip(Dropped{12, true}).by_program);
  BOOST_TEST(round_trip(Dropped{12, false}).lines == 12U);
  BOOST_TEST(*round_trip(End{3, "over"}).status == 3);
  BOOST_TEST(!round_trip(End{std::nullopt, "over"}).status.has_value());
}

BOOST_AUTO_TEST_CASE(values_that_are_not_finite_are_not_counted) {
  BOOST_TEST(!round_trip(Interval{0, 0, 1, {INFINITY}}).values[0].has_value());
  BOOST_TEST(!round_trip(Interval{0, 0, 1, {NAN}}).values[0].has_value());
}

BOOST_AUTO_TEST_CASE(invalid_lines_are_rejected) {
  for (const char* text :
       {"", "{", "[]", "3", "null", R"({"type":"hello"})", R"({"type":"x"})",
        R"({"type":"hello","schema":"recount-watch/2","subject":"s","interval_ms":1,"series":[]})",
        R"({"type":"interval","n":0,"begin":2,"end":1,"values":[]})",
        R"({"type":"interval","n":0,"begin":-1,"end":1,"values":[]})",
        R"({"type":"interval","n":0,"begin":0,"end":1e300,"values":[]})",
        R"({"type":"interval","n":0,"begin":0,"end":1,"values":["1"]})",
        R"({"type":"interval","n":0,"begin":0,"end":1,"values":[1],"shares":[2]})",
        R"({"type":"interval","n":0,"begin":0,"end":1,"values":[1],"shares":[]})",
        R"({"type":"section","edge":"middle","time":0,"name":"x"})",
        R"({"type":"section","edge":"end","time":0,"name":3})", R"({"type":"dropped","lines":-1,"by":"x"})",
        R"({"type":"end","status":"x","reason":"y"})"})
    BOOST_TEST(!parse_line(text).has_value(), text);
  BOOST_TEST(
      !parse_line(R"({"type":"end","status":null,"reason":")" + std::string(longest_line, 'x') + "\"}"));
  BOOST_TEST(!parse_line(std::string(200'000, '[')));
}

BOOST_AUTO_TEST_CASE(damaged_lines_are_harmless) {
  std::mt19937 random(1);
  const std::string lines[] = {to_line(hello()), to_line(Interval{7, 3.5, 4.0, {1.0, 0.1}}),
                               to_line(Section{Section::Edge::begin, 1.25, "solve"}),
                               to_line(End{3, "over"})};
  std::size_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    Trace trace(10);
    static_cast<void>(trace.add(hello()));
    std::string line = lines[random() % 4];
    for (unsigned changes = random() % 4; changes > 0; --changes)
      line[random() % line.size()] = static_cast<char>(random());
    if (random() % 4 == 0) line.resize(random() % line.size());
    if (const auto parsed = parse_line(line)) taken += trace.add(*parsed) ? 1U : 0U;
  }
  BOOST_TEST(taken > 1000U);
}

BOOST_AUTO_TEST_CASE(lines_are_assembled_from_any_pieces) {
  const std::string text = to_line(hello()) + "\n" + to_line(Interval{0, 0, 1, {1.0, 2.0}}) + "\n" +
                           to_line(End{0, "over"}) + "\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, text.size()}) {
    LineReader reader;
    std::size_t got = 0;
    for (std::size_t at = 0; at < text.size(); at += step)
      BOOST_TEST((reader.feed(std::string_view(text).substr(at, step), [&](const auto&) { ++got; }) ==
                  LineReader::State::open));
    BOOST_TEST(got == 3U);
  }
}

BOOST_AUTO_TEST_CASE(line_without_end_is_rejected_in_bounded_memory) {
  LineReader reader;
  const std::string block(4096, 'x');
  std::size_t blocks = 0;
  while (reader.feed(block, [](const auto&) {}) == LineReader::State::open)
    ++blocks;
  BOOST_TEST(blocks <= longest_line / block.size());
}

BOOST_AUTO_TEST_SUITE_END()
