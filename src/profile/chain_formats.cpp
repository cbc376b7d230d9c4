#include "profile/profile_report.hpp"

#include "base/json.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

namespace recount::profile {
namespace {

/// A function with its file, and the line that runs or calls in it.
struct Step {
  std::string object, function, file;
  int line = 0;
  auto operator<=>(const Step&) const = default;
};

/// The frames of a chain, outermost first, with the process if it is known.
std::vector<Step> make_steps(const Profile& p, std::size_t chain) {
  std::vector<Step> steps;
  const auto& chains = p.recording.places.chains();
  for (std::size_t c = chain; c != 0; c = chains[c].caller) {
    const Located& at = p.naming.places[chains[c].place];
    for (const symbol::Frame& frame : at.frames)
      steps.push_back({at.module, at.name_of(frame), frame.file, frame.line});
  }
  std::ranges::reverse(steps);
  return steps;
}

/// Each chain with samples, and its tallies by event.
template <class Take>
void each_chain(const Profile& p, Take take) {
  const Places& places = p.recording.places;
  for (std::size_t chain = 1; chain < places.chains().size(); ++chain)
    if (const auto tally = places.chain_tally(chain); !without_samples(tally))
      take(make_steps(p, chain), tally);
}

/// Numbers of frames in the order of their first use.
class Frames {
public:
  std::size_t number(const Step& step) {
    const auto [at, added] = numbers_.emplace(step, numbers_.size());
    if (added) {
      Json frame{{"name", step.function}};
      if (!step.file.empty()) frame["file"] = step.file;
      if (step.line > 0) frame["line"] = step.line;
      json_.push_back(std::move(frame));
    }
    return at->second;
  }
  [[nodiscard]] const Json& json() const { return json_; }

private:
  std::map<Step, std::size_t> numbers_;
  Json json_ = Json::array();
};

} // namespace

std::string speedscope_json(const Profile& p) {
  Frames frames;
  Json profiles = Json::array();
  for (std::size_t e = 0; e < p.recording.events.size(); ++e) {
    const SampledEvent& event = p.recording.events[e];
    Json samples = Json::array(), weights = Json::array();
    std::uint64_t all = 0;
    each_chain(p, [&](const std::vector<Step>& steps, std::span<const Tally> tally) {
      if (tally[e].weight == 0) return;
      Json stack = Json::array();
      for (const Step& step : steps)
        stack.push_back(frames.number(step));
      samples.push_back(std::move(stack));
      weights.push_back(tally[e].weight);
      all += tally[e].weight;
    });
    profiles.push_back({{"type", "sampled"},
                        {"name", event.event.name},
                        {"unit", is_clock(event.event) ? "nanoseconds" : "none"},
                        {"startValue", 0},
                        {"endValue", all},
                        {"samples", std::move(samples)},
                        {"weights", std::move(weights)}});
  }
  const Json json{{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                  {"exporter", "recount " RECOUNT_VERSION},
                  {"name", p.subject},
                  {"activeProfileIndex", 0},
                  {"shared", {{"frames", frames.json()}}},
                  {"profiles", std::move(profiles)}};
  return dumped(json) + "\n";
}

namespace {

using Costs = std::vector<Tally>;
using FunctionKey = std::tuple<std::string, std::string, std::string>; ///< file, object, function

FunctionKey function_key(const Step& step) {
  return {step.file.empty() ? "???" : step.file, step.object.empty() ? "???" : step.object, step.function};
}

/// What callgrind.out holds of one function.
struct CallgrindFunction {
  std::map<int, Costs> self;                          ///< by line
  std::map<std::pair<int, FunctionKey>, Costs> calls; ///< by the line of the call, and callee
};

/// One line of text: control characters would end it. `least`: of the characters that stay.
std::string one_line(std::string text, unsigned char least = ' ', char other = '?') {
  std::ranges::replace_if(
      text, [least](char c) { return static_cast<unsigned char>(c) < least; }, other);
  return text;
}

std::string cost_text(const Costs& costs) {
  std::string text;
  for (const Tally& tally : costs)
    text += fmt::format(" {}", tally.weight);
  return text + "\n";
}

void add_chain(std::map<FunctionKey, CallgrindFunction>& functions, const std::vector<Step>& steps,
               std::span<const Tally> tally) {
  std::set<std::tuple<FunctionKey, int, FunctionKey>> seen;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const FunctionKey caller = function_key(steps[i]), callee = function_key(steps[i + 1]);
    if (seen.emplace(caller, steps[i].line, callee).second)
      add(functions[caller].calls[{steps[i].line, callee}], tally);
  }
  if (!steps.empty()) add(functions[function_key(steps.back())].self[steps.back().line], tally);
}

} // namespace

std::string callgrind_text(const Profile& p) {
  std::map<FunctionKey, CallgrindFunction> functions;
  Costs totals(p.recording.events.size());
  each_chain(p, [&](const std::vector<Step>& steps, std::span<const Tally> tally) {
    add_chain(functions, steps, tally);
    add(totals, tally);
  });
  std::string text = fmt::format("# callgrind format\nversion: 1\ncreator: recount " RECOUNT_VERSION
                                 "\ncmd: {}\npart: 1\npositions: line\nevents:",
                                 one_line(p.subject));
  for (const SampledEvent& event : p.recording.events)
    text += " " + one_line(event.event.name, ' ' + 1, '_'); // blanks separate them
  text += "\nsummary:" + cost_text(totals) + "\n";
  for (const auto& [key, function] : functions) {
    const auto& [file, object, name] = key;
    text += fmt::format("ob={}\nfl={}\nfn={}\n", one_line(object), one_line(file), one_line(name));
    for (const auto& [line, costs] : function.self)
      text += std::to_string(line) + cost_text(costs);
    for (const auto& [call, costs] : function.calls) {
      const auto& [line, callee] = call;
      std::uint64_t samples = 0;
      for (const Tally& tally : costs)
        samples += tally.samples;
      text += fmt::format("cob={}\ncfi={}\ncfn={}\ncalls={} 0\n{}{}", one_line(std::get<1>(callee)),
                          one_line(std::get<0>(callee)), one_line(std::get<2>(callee)), samples, line,
                          cost_text(costs));
    }
    text += "\n";
  }
  return text + "totals:" + cost_text(totals);
}

namespace {

/// Fields of a protocol buffer (https://protobuf.dev/programming-guides/encoding/).
class Message {
public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3U);
    varint(value);
    return *this;
  }
  Message& bytes(unsigned field, std::string_view text) {
    varint(std::uint64_t{field} << 3U | 2U);
    varint(text.size());
    text_ += text;
    return *this;
  }
  Message& numbers(unsigned field, const std::vector<std::uint64_t>& values) {
    Message packed;
    for (const std::uint64_t value : values)
      packed.varint(value);
    return bytes(field, packed.text_);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U)
      text_ += static_cast<char>((value & 0x7fU) | 0x80U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// Texts, functions and locations of a profile by their numbers.
class PprofTables {
public:
  explicit PprofTables(Message& into) : into_(into) { text(""); } // number 0

  std::uint64_t text(const std::string& text) {
    const auto [at, added] = texts_.emplace(text, texts_.size());
    if (added) into_.bytes(6, text);
    return at->second;
  }
  std::uint64_t location(const Step& step) {
    const auto [at, added] = locations_.emplace(step, locations_.size() + 1);
    if (!added) return at->second;
    Message line;
    line.number(1, function(step)).number(2, static_cast<std::uint64_t>(std::max(step.line, 0)));
    into_.bytes(4, Message().number(1, at->second).bytes(4, line.text()).text());
    return at->second;
  }

private:
  std::uint64_t function(const Step& step) {
    const auto [at, added] = functions_.emplace(std::pair(step.function, step.file), functions_.size() + 1);
    if (added) {
      const std::uint64_t name = text(step.function), file = text(step.file);
      into_.bytes(5, Message().number(1, at->second).number(2, name).number(3, name).number(4, file).text());
    }
    return at->second;
  }
  Message& into_;
  std::map<std::string, std::uint64_t> texts_;
  std::map<Step, std::uint64_t> locations_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
};

std::string gzipped(std::string text) {
  constexpr int gzip = 15 + 16; // zlib.h: the largest window, with a header of gzip
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw unavailable("pprof", "zlib cannot be initialised");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw unavailable("pprof", "zlib cannot compress it");
  return out;
}

} // namespace

std::string pprof_bytes(const Profile& p) {
  Message profile;
  PprofTables tables(profile);
  for (const SampledEvent& event : p.recording.events) {
    Message type;
    type.number(1, tables.text(event.event.name))
        .number(2, tables.text(is_clock(event.event) ? "nanoseconds" : "count"));
    profile.bytes(1, type.text());
  }
  each_chain(p, [&](const std::vector<Step>& steps, std::span<const Tally> tally) {
    std::vector<std::uint64_t> locations, values;
    for (const Step& step : steps | std::views::reverse)
      locations.push_back(tables.location(step));
    for (const Tally& one : tally)
      values.push_back(one.weight);
    profile.bytes(2, Message().numbers(1, locations).numbers(2, values).text());
  });
  profile.number(10, static_cast<std::uint64_t>(p.recording.seconds * 1e9));
  return gzipped(profile.text());
}

} // namespace recount::profile
