// Call chains in the formats of viewers, and the comparison of two profiles.
#include "profile/profile_report.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <zlib.h>

using namespace recount;
using namespace recount::profile;

BOOST_AUTO_TEST_SUITE(chain_formats)

namespace {

struct Chain {
  std::vector<std::uint64_t> addresses; ///< innermost first
  int samples = 1;
};

/// Samples of a clock in a file whose functions are named by their addresses: "f10" at 0x10, line 16.
Profile profile_of(const std::vector<Chain>& chains, const std::string& process = "solver") {
  SampledEvent clock;
  clock.event.name = "cpu-clock";
  clock.event.attr.type = PERF_TYPE_SOFTWARE;
  clock.event.attr.config = PERF_COUNT_SW_CPU_CLOCK;
  clock.period = 1000;
  Recording recording{{clock}, Places({false}, true), {}, {}, {}, {}};
  Mapping mapping;
  mapping.pid = mapping.tid = 1;
  mapping.length = 0x1000;
  mapping.file = "/a";
  recording.places.add(mapping);
  recording.places.add(Name{0, 1, 1, true, process});
  for (const Chain& chain : chains) {
    std::vector<std::uint64_t> words{PERF_CONTEXT_USER, chain.addresses.front()};
    for (std::size_t i = 1; i < chain.addresses.size(); ++i)
      words.push_back(chain.addresses[i] + 1); // return addresses
    Sample s;
    s.ip = chain.addresses.front();
    s.pid = s.tid = 1;
    s.mode = Mode::user;
    s.period = 1000;
    s.chain = words;
    for (int i = 0; i < chain.samples; ++i)
      recording.places.add(s);
  }
  recording.report.events.resize(1);
  Profile p{std::move(recording), {}, "solver", {}};
  for (const Place& place : p.recording.places.places()) {
    Located at;
    at.module = "/a";
    at.frames = {{fmt::format("f{:x}", place.offset), "/s/a.cpp", static_cast<int>(place.offset), false}};
    if (place.kind == Place::Kind::process) at.frames = {{process, "", 0, false}};
    p.naming.places.push_back(at);
  }
  return p;
}

/// {file, function, line: cost; ...} of the self costs, and inclusive costs by call.
struct Callgrind {
  std::map<std::string, long> self, inclusive;
  std::string summary;
  explicit Callgrind(const std::string& text) {
    std::istringstream lines(text);
    std::string line, function, callee;
    while (std::getline(lines, line)) {
      if (line.starts_with("fn=")) function = line.substr(3);
      if (line.starts_with("cfn=")) callee = line.substr(4);
      if (line.starts_with("summary: ")) summary = line.substr(9);
      if (line.empty() || line[0] < '0' || line[0] > '9') continue;
      const long cost = std::stol(line.substr(line.find(' ')));
      if (callee.empty())
        self[function] += cost;
      else
        inclusive[function + " " + callee] += cost;
      callee.clear();
    }
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(folded_chains_begin_with_the_process) {
  const Profile p = profile_of({{{0x10, 0x20}, 2}}, "a; b");
  BOOST_TEST(folded(p.recording.places, p.naming, 0) == "a:_b;f20;f10 2000\n");
  BOOST_TEST(chains_text(p, 1).find("a; b") == std::string::npos);
  const Profile unnamed = profile_of({{{0x10, 0x20}, 1}}, "");
  BOOST_TEST(folded(unnamed.recording.places, unnamed.naming, 0) == "f20;f10 1000\n");
  BOOST_TEST(missing_frame_pointers(profile_of({{{0x10}, 20}}).recording.places).find("20 of 20") == 0U);
}

BOOST_AUTO_TEST_CASE(speedscope_has_the_required_fields) {
  const Profile p = profile_of({{{0x10, 0x20}, 3}, {{0x30}, 1}});
  const auto json = nlohmann::json::parse(speedscope_json(p));
  // Required by the schema: $schema, shared.frames[].name, profiles[].{type, name, unit, startValue,
  // endValue, samples, weights}.
  BOOST_TEST(json.at("$schema") == "https://www.speedscope.app/file-format-schema.json");
  const auto& frames = json.at("shared").at("frames");
  BOOST_TEST(json.at("profiles").size() == 1U);
  const auto& profile = json.at("profiles")[0];
  BOOST_TEST(profile.at("type") == "sampled");
  BOOST_TEST(profile.at("unit") == "nanoseconds");
  BOOST_TEST(profile.at("name") == "cpu-clock");
  BOOST_TEST(profile.at("startValue") == 0);
  BOOST_TEST(profile.at("endValue") == 4000);
  std::map<std::string, int> stacks;
  for (std::size_t i = 0; i < profile.at("samples").size(); ++i) {
    std::string stack;
    for (const auto& frame : profile.at("samples")[i])
      stack += frames.at(frame.get<std::size_t>()).at("name").get<std::string>() + ";";
    stacks[stack] += profile.at("weights").at(i).get<int>();
  }
  BOOST_TEST((stacks == std::map<std::string, int>{{"solver;f20;f10;", 3000}, {"solver;f30;", 1000}}));
}

BOOST_AUTO_TEST_CASE(callgrind_has_self_and_inclusive_costs) {
  // f20 calls f10, which calls itself: the recursion counts once for each call.
  const Profile p = profile_of({{{0x10, 0x20}, 3}, {{0x10, 0x10, 0x10, 0x20}, 2}, {{0x20}, 1}});
  const Callgrind got(callgrind_text(p));
  BOOST_TEST(got.summary == "6000");
  BOOST_TEST((got.self == std::map<std::string, long>{{"f10", 5000}, {"f20", 1000}}));
  BOOST_TEST((got.inclusive ==
              std::map<std::string, long>{{"solver f20", 6000}, {"f20 f10", 5000}, {"f10 f10", 2000}}));
}

namespace {
/// The fields of a protocol buffer: numbers as texts, and bytes.
std::multimap<std::uint64_t, std::string> fields(std::string_view text) {
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !text.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(text.front());
      text.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  std::multimap<std::uint64_t, std::string> all;
  while (!text.empty()) {
    const std::uint64_t key = varint(), value = varint();
    const bool bytes = (key & 7U) == 2;
    all.emplace(key >> 3U, bytes ? std::string(text.substr(0, value)) : std::to_string(value));
    if (bytes) text.remove_prefix(std::min<std::size_t>(value, text.size()));
  }
  return all;
}

std::string inflated(std::string text) {
  z_stream stream{};
  BOOST_TEST_REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  BOOST_TEST(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::string field(const std::string& message, std::uint64_t number) {
  const auto all = fields(message);
  const auto at = all.find(number);
  return at == all.end() ? "" : at->second;
}
} // namespace

BOOST_AUTO_TEST_CASE(pprof_has_samples_locations_and_names) {
  const auto profile = fields(inflated(pprof_bytes(profile_of({{{0x10, 0x20}, 3}, {{0x30}, 1}}))));
  std::vector<std::string> texts;
  for (auto [at, end] = profile.equal_range(6); at != end; ++at)
    texts.push_back(at->second);
  BOOST_TEST(texts.at(0).empty());
  const auto text = [&](const std::string& number) { return texts.at(std::stoul(number)); };
  const std::string type = profile.find(1)->second;
  BOOST_TEST(text(field(type, 1)) == "cpu-clock");
  BOOST_TEST(text(field(type, 2)) == "nanoseconds");
  std::map<std::string, std::string> functions, locations; // by number: names
  for (auto [at, end] = profile.equal_range(5); at != end; ++at)
    functions[field(at->second, 1)] = text(field(at->second, 2)) + "@" + text(field(at->second, 4));
  for (auto [at, end] = profile.equal_range(4); at != end; ++at)
    locations[field(at->second, 1)] =
        functions.at(field(field(at->second, 4), 1)) + ":" + field(field(at->second, 4), 2);
  std::map<std::string, std::string> samples; // chain, innermost first: its weight in bytes of the encoding
  for (auto [at, end] = profile.equal_range(2); at != end; ++at) {
    std::string chain;
    for (const char number : field(at->second, 1))
      chain += locations.at(std::to_string(int{number})) + " ";
    samples[chain] = field(at->second, 2);
  }
  // 3000 and 1000 as varints.
  BOOST_TEST((samples ==
              std::map<std::string, std::string>{{"f10@/s/a.cpp:16 f20@/s/a.cpp:32 solver@:0 ", "\xb8\x17"},
                                                 {"f30@/s/a.cpp:48 solver@:0 ", "\xe8\x07"}}));
}

BOOST_AUTO_TEST_CASE(changed_shares_are_found) {
  const Profile before = profile_of({{{0x10}, 500}, {{0x20}, 500}, {{0x30}, 3}});
  const Profile after = profile_of({{{0x20}, 510}, {{0x10}, 100}, {{0x30}, 2}, {{0x40}, 390}});
  BOOST_TEST((common_events(before, after) == std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}}));
  const auto changes = compare_shares(before, 0, after, 0, By::function);
  BOOST_REQUIRE(changes.size() == 4U);
  BOOST_TEST(changes[0].row.function == "f10"); // 50 % to 10 %
  BOOST_TEST(changes[0].differs());
  BOOST_TEST(changes[1].row.function == "f40"); // 0 % to 39 %
  BOOST_TEST(changes[1].differs());
  BOOST_TEST(changes[1].before.value == 0.0);
  BOOST_TEST(changes[2].row.function == "f20");
  BOOST_TEST(!changes[2].differs());
  BOOST_TEST(!changes[3].differs());
  for (const auto& change : compare_shares(before, 0, before, 0, By::function))
    BOOST_TEST(!change.differs());
  const auto changed = diff_table(changes, "event", By::function, 10).data();
  BOOST_REQUIRE(changed.size() == 3U * changes.size());
  BOOST_TEST((changed[0].keys[0] == std::pair<std::string, std::string>("function", "f10")));
  BOOST_TEST(changed[0].statistic == "share before");
  BOOST_TEST((changed[0].value == changes[0].before.value && changed[0].low == changes[0].before.low));
  BOOST_TEST(changed[2].reason.empty());
  BOOST_TEST(!changed[8].reason.empty());
  const auto values = profile_table(before, By::function, 10).data();
  BOOST_REQUIRE(values.size() == 6U);
  BOOST_TEST((values[1].statistic == "samples" && values[1].value == 500));
}

BOOST_AUTO_TEST_CASE(data_has_whole_names_and_narrow_tables_have_brief_ones) {
  ProfileRow row;
  row.function =
      "std::vector<long> (anonymous namespace)::solver::solve(" + std::string(100, 'T') + "*) const";
  BOOST_TEST(name_fields(row, By::symbol).front().brief == "solver::solve");
  BOOST_TEST(name_keys(row, By::symbol).front().second == row.function);
}

BOOST_AUTO_TEST_SUITE_END()
