#include "commands/watch/message.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <sys/socket.h>

namespace recount::watch {
namespace {

constexpr std::size_t longest_subject = 1000; ///< bytes; a command line can exceed longest_line

struct ToJson {
  Json operator()(const Hello& m) const {
    Json series = Json::array();
    for (const Series& s : m.series) {
      Json& one = series.emplace_back(Json{{"name", s.name}, {"unit", s.unit}});
      if (!s.refused.empty())
        one.update({{"refused", s.refused.cause}, {"refused_code", name_of(s.refused.code)}});
    }
    return {{"type", "hello"},
            {"schema", protocol},
            {"subject", m.subject.substr(0, longest_subject)},
            {"interval_ms", m.interval_ms},
            {"series", series}};
  }
  Json operator()(const Interval& m) const {
    const auto number = [](const auto& value) {
      return value && std::isfinite(*value) ? Json(*value) : Json();
    };
    Json json{{"type", "interval"},
              {"n", m.number},
              {"begin", m.begin},
              {"end", m.end},
              {"values", make_array(m.values, number)}};
    if (!m.shares.empty()) json["shares"] = m.shares;
    return json;
  }
  Json operator()(const Section& m) const {
    return {{"type", "section"},
            {"edge", edge_names[static_cast<int>(m.edge)]},
            {"time", m.time},
            {"name", m.name}};
  }
  Json operator()(const Dropped& m) const {
    return {{"type", "dropped"}, {"lines", m.lines}, {"by", m.by_program ? "program" : "viewer"}};
  }
  Json operator()(const End& m) const {
    return {{"type", "end"}, {"status", or_null(m.status)}, {"reason", m.reason}};
  }
};

/// Names and reasons are cut rather than a line sent that no viewer accepts.
void cut_texts(Json& json, std::size_t most) {
  if (json.is_string())
    json = json.get<std::string>().substr(0, most);
  else if (json.is_structured())
    for (Json& member : json)
      cut_texts(member, most);
}

/// Thrown for invalid lines, as Json::exception; caught in parse_line().
struct BadLine {};

void require(bool valid) {
  if (!valid) throw BadLine{};
}

std::string parse_text(const Json& json, const char* key) {
  return json.at(key).get<std::string>();
}

std::string parse_optional_text(const Json& json, const char* key) {
  return json.contains(key) ? parse_text(json, key) : std::string();
}

std::int64_t parse_count(const Json& json, const char* key) {
  require(json.at(key).is_number_integer());
  const auto count = json.at(key).get<std::int64_t>();
  require(count >= 0);
  return count;
}

double parse_number(const Json& json, double most) {
  const double number = json.get<double>();
  require(number >= 0 && number <= most);
  return number;
}

double parse_time(const Json& json, const char* key) {
  constexpr double longest_time = 1e9; // seconds
  return parse_number(json.at(key), longest_time);
}

const Json& parse_array(const Json& json, const char* key) {
  const Json& array = json.at(key);
  require(array.is_array() && array.size() <= max_series);
  return array;
}

Hello parse_hello(const Json& json) {
  require(parse_text(json, "schema") == protocol);
  Hello m{parse_text(json, "subject"), parse_count(json, "interval_ms"), {}};
  for (const Json& s : parse_array(json, "series"))
    m.series.push_back(
        {parse_text(s, "name"), parse_text(s, "unit"),
         Reason(parse_optional_text(s, "refused"), reason_code(parse_optional_text(s, "refused_code")))});
  return m;
}

Interval parse_interval(const Json& json) {
  Interval m{parse_count(json, "n"), parse_time(json, "begin"), parse_time(json, "end"), {}};
  require(m.begin <= m.end);
  for (const Json& value : parse_array(json, "values"))
    m.values.push_back(value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  if (!json.contains("shares")) return m;
  for (const Json& share : parse_array(json, "shares"))
    m.shares.push_back(parse_number(share, 1));
  require(m.shares.size() == m.values.size());
  return m;
}

std::optional<Section::Edge> parse_edge(std::string_view name) {
  const auto* const edge = std::ranges::find(edge_names, name);
  if (edge == std::end(edge_names)) return {};
  return static_cast<Section::Edge>(edge - edge_names);
}

Message parse_message(const Json& json) {
  const std::string type = parse_text(json, "type");
  if (type == "hello") return parse_hello(json);
  if (type == "interval") return parse_interval(json);
  if (type == "section") {
    const auto edge = parse_edge(parse_text(json, "edge"));
    require(edge.has_value());
    return Section{*edge, parse_time(json, "time"), parse_text(json, "name")};
  }
  if (type == "dropped")
    return Dropped{static_cast<std::uint64_t>(parse_count(json, "lines")),
                   parse_text(json, "by") == "program"};
  require(type == "end");
  End m{std::nullopt, parse_text(json, "reason")};
  if (!json.at("status").is_null()) m.status = static_cast<int>(parse_count(json, "status") & 0xff);
  return m;
}
} // namespace

std::string to_line(const Message& message) {
  Json json = std::visit(ToJson{}, message);
  std::string line = dumped(json);
  for (std::size_t most = longest_subject; line.size() > longest_line; most /= 2) {
    cut_texts(json, most);
    line = dumped(json);
  }
  return line;
}

std::optional<Message> parse_line(std::string_view line) {
  if (line.size() > longest_line) return {};
  try {
    return parse_message(Json::parse(line));
  } catch (const Json::exception&) {
  } catch (const BadLine&) {
  }
  return {};
}

LineReader::State LineReader::read(int fd, const Sink& sink) {
  char bytes[16384];
  const ssize_t n = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return State::open;
  if (n <= 0) return State::closed;
  return feed({bytes, static_cast<std::size_t>(n)}, sink);
}

LineReader::State LineReader::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    if (line_.size() + part.size() > longest_line) return State::invalid;
    line_ += part;
    if (end == std::string_view::npos) return State::open;
    bytes.remove_prefix(end + 1);
    const auto message = parse_line(line_);
    line_.clear();
    if (!message) return State::invalid;
    sink(*message);
  }
  return State::open;
}

void parse_sections(std::string_view text, std::uint64_t begin_ns, std::uint64_t now_ns,
                    const LineReader::Sink& sink) {
  constexpr std::size_t longest_name = 200;
  for (const std::string_view line : base::split(text, '\n')) {
    const base::SectionLine parsed = base::parse_section_line(line);
    if (parsed.edge == "dropped") {
      if (const auto lines = base::parse<std::uint64_t>(parsed.name)) sink(Dropped{*lines, true});
      continue;
    }
    const auto edge = parse_edge(parsed.edge);
    if (!edge || parsed.name.empty()) continue;
    // Not before the start of the watch, nor in the future.
    const auto time = std::clamp(parsed.time.value_or(now_ns), std::min(begin_ns, now_ns), now_ns);
    const auto since = time > begin_ns ? time - begin_ns : 0;
    sink(Section{*edge, static_cast<double>(since) / 1e9, std::string(parsed.name.substr(0, longest_name))});
  }
}

bool Trace::add(const Message& message) {
  return std::visit([this](const auto& m) { return add(m); }, message);
}

bool Trace::add(const Hello& hello) {
  if (hello_) return false;
  hello_ = hello;
  sums_.resize(hello.series.size());
  return true;
}

bool Trace::add(const Interval& interval) {
  if (!hello_ || interval.values.size() != hello_->series.size()) return false;
  if (!interval.shares.empty() && interval.shares.size() != interval.values.size()) return false;
  const double seconds = interval.end - interval.begin;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (!interval.values[i]) continue;
    Sum& sum = sums_[i];
    const double value = *interval.values[i];
    sum.minimum = sum.counted == 0 ? value : std::min(sum.minimum, value);
    sum.maximum = sum.counted == 0 ? value : std::max(sum.maximum, value);
    ++sum.counted;
    sum.weighted += value * seconds;
    sum.seconds += seconds;
    if (!interval.shares.empty()) sum.share = std::min(sum.share, interval.shares[i]);
  }
  ++number_;
  intervals_.push_back(interval);
  if (intervals_.size() > most_) intervals_.pop_front();
  return true;
}

bool Trace::add(const Section& section) {
  constexpr std::size_t max_open = 64;
  if (!hello_) return false;
  if (section.edge == Section::Edge::begin && open_.size() < max_open) open_.push_back(section.name);
  if (section.edge == Section::Edge::end) {
    const auto last = std::find(open_.rbegin(), open_.rend(), section.name);
    if (last != open_.rend()) open_.erase(std::next(last).base());
  }
  sections_.push_back(section);
  if (sections_.size() > most_) sections_.pop_front();
  return true;
}

bool Trace::add(const Dropped& dropped) {
  (dropped.by_program ? dropped_by_program_ : dropped_) += dropped.lines;
  return true;
}

bool Trace::add(const End& end) {
  end_ = end;
  return true;
}

} // namespace recount::watch
