#include "watch/message.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <cmath>

namespace recount::watch {
namespace {
constexpr std::size_t longest_text = 1024;
constexpr double longest_time = 1e9; ///< seconds

struct ToJson {
  Json operator()(const Hello& m) const {
    Json series = Json::array();
    for (const Series& s : m.series) {
      Json one{{"name", s.name}, {"unit", s.unit}};
      if (!s.refused.empty()) one["refused"] = s.refused;
      if (!s.mark.empty()) one["verdict"] = s.mark;
      series.push_back(one);
    }
    return {{"type", "hello"},
            {"schema", protocol},
            {"subject", m.subject},
            {"interval_ms", m.interval_ms},
            {"series", series}};
  }
  Json operator()(const Interval& m) const {
    Json values = Json::array();
    for (const auto& value : m.values)
      values.push_back(value && std::isfinite(*value) ? Json(*value) : Json());
    Json json{{"type", "interval"}, {"n", m.number}, {"begin", m.begin}, {"end", m.end}, {"values", values}};
    if (!m.shares.empty()) json["shares"] = m.shares;
    return json;
  }
  Json operator()(const Section& m) const {
    constexpr const char* edges[] = {"begin", "end", "mark"};
    return {
        {"type", "section"}, {"edge", edges[static_cast<int>(m.edge)]}, {"time", m.time}, {"name", m.name}};
  }
  Json operator()(const Dropped& m) const {
    return {{"type", "dropped"}, {"lines", m.lines}, {"by", m.by_program ? "program" : "viewer"}};
  }
  Json operator()(const End& m) const {
    return {{"type", "end"}, {"status", m.status ? Json(*m.status) : Json()}, {"reason", m.reason}};
  }
};

/// Thrown where a line is not what it should be; caught in parse_line().
struct BadLine {};

const Json& member(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end()) throw BadLine{};
  return *at;
}

std::string text(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > longest_text) throw BadLine{};
  return value.get<std::string>();
}

std::string text_or_none(const Json& json, const char* key) {
  return json.contains(key) ? text(json, key) : std::string();
}

std::int64_t whole(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_number_integer()) throw BadLine{};
  const auto number = value.get<std::int64_t>();
  if (number < 0) throw BadLine{};
  return number;
}

double time_of(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_number()) throw BadLine{};
  const double time = value.get<double>();
  if (!(time >= 0 && time <= longest_time)) throw BadLine{};
  return time;
}

Hello hello_of(const Json& json) {
  if (text(json, "schema") != protocol) throw BadLine{};
  Hello m{text(json, "subject"), whole(json, "interval_ms"), {}};
  const Json& series = member(json, "series");
  if (!series.is_array() || series.size() > most_series) throw BadLine{};
  for (const Json& one : series) {
    if (!one.is_object()) throw BadLine{};
    m.series.push_back(
        {text(one, "name"), text(one, "unit"), text_or_none(one, "refused"), text_or_none(one, "verdict")});
  }
  return m;
}

Interval interval_of(const Json& json) {
  Interval m{whole(json, "n"), time_of(json, "begin"), time_of(json, "end"), {}};
  const Json& values = member(json, "values");
  if (!values.is_array() || values.size() > most_series || m.end < m.begin) throw BadLine{};
  for (const Json& value : values) {
    if (!value.is_null() && !value.is_number()) throw BadLine{};
    m.values.push_back(value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  if (const auto shares = json.find("shares"); shares != json.end()) {
    if (!shares->is_array() || shares->size() != values.size()) throw BadLine{};
    for (const Json& share : *shares) {
      if (!share.is_number() || !(share.get<double>() >= 0 && share.get<double>() <= 1)) throw BadLine{};
      m.shares.push_back(share.get<double>());
    }
  }
  return m;
}

Section section_of(const Json& json) {
  const std::string edge = text(json, "edge");
  using enum Section::Edge;
  if (edge != "begin" && edge != "end" && edge != "mark") throw BadLine{};
  return {edge == "begin" ? begin : edge == "end" ? end : mark, time_of(json, "time"), text(json, "name")};
}

End end_of(const Json& json) {
  End m{std::nullopt, text(json, "reason")};
  const Json& status = member(json, "status");
  if (!status.is_null()) m.status = static_cast<int>(whole(json, "status") & 0xff);
  return m;
}

Message message_of(const Json& json) {
  if (!json.is_object()) throw BadLine{};
  const std::string type = text(json, "type");
  if (type == "hello") return hello_of(json);
  if (type == "interval") return interval_of(json);
  if (type == "section") return section_of(json);
  if (type == "dropped")
    return Dropped{static_cast<std::uint64_t>(whole(json, "lines")), text(json, "by") == "program"};
  if (type == "end") return end_of(json);
  throw BadLine{};
}
} // namespace

std::string to_line(const Message& message) {
  return dumped(std::visit(ToJson{}, message));
}

std::optional<Message> parse_line(std::string_view line) {
  if (line.size() > longest_line) return {};
  try {
    return message_of(Json::parse(line));
  } catch (const Json::exception&) {
  } catch (const BadLine&) {
  }
  return {};
}

namespace {
constexpr std::size_t most_open = 64; ///< sections within one another
}

bool Trace::add(const Message& message) {
  return std::visit([this](const auto& m) { return take(m); }, message);
}

bool Trace::take(const Hello& hello) {
  if (hello_) return false;
  hello_ = hello;
  sums_.resize(hello.series.size());
  return true;
}

bool Trace::take(const Interval& interval) {
  if (!hello_ || interval.values.size() != hello_->series.size()) return false;
  if (!interval.shares.empty() && interval.shares.size() != interval.values.size()) return false;
  const double seconds = interval.end - interval.begin;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (!interval.values[i]) continue;
    Sum& sum = sums_[i];
    const double value = *interval.values[i];
    sum.least = sum.counted == 0 ? value : std::min(sum.least, value);
    sum.greatest = sum.counted == 0 ? value : std::max(sum.greatest, value);
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

bool Trace::take(const Section& section) {
  if (!hello_) return false;
  if (section.edge == Section::Edge::begin && open_.size() < most_open) open_.push_back(section.name);
  if (section.edge == Section::Edge::end) {
    const auto last = std::find(open_.rbegin(), open_.rend(), section.name);
    if (last != open_.rend()) open_.erase(std::next(last).base());
  }
  sections_.push_back(section);
  if (sections_.size() > most_) sections_.pop_front();
  return true;
}

bool Trace::take(const Dropped& dropped) {
  (dropped.by_program ? dropped_by_program_ : dropped_) += dropped.lines;
  return true;
}

bool Trace::take(const End& end) {
  end_ = end;
  return true;
}

} // namespace recount::watch
