#include "result/result_line.hpp"

#include "base/json.hpp"
#include "result/observation.hpp"

#include <recount/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

// One JSON object of a results file, field by field.
namespace recount::result {

/// One object of a line with its place, so that every error names it. nlohmann::json, not Json: ordered keys
/// are searched one by one, and a damaged line can have any number of them.
class Fields {
public:
  Fields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("is not a JSON object");
  }

  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input(where_, cause, "recount-results(5) documents the format");
  }

  [[nodiscard]] const nlohmann::json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] const nlohmann::json& need(const char* key) const {
    const nlohmann::json* value = find(key);
    if (!value) fail(std::string("\"") + key + "\" is missing");
    return *value;
  }

  [[nodiscard]] const std::string& where() const { return where_; }

  [[nodiscard]] std::string text(const char* key) const {
    const nlohmann::json& value = need(key);
    if (!value.is_string()) fail(std::string("\"") + key + "\" is not text");
    return value.get<std::string>();
  }
  [[nodiscard]] std::string text_or(const char* key) const { return find(key) ? text(key) : std::string(); }

  [[nodiscard]] std::int64_t whole(const nlohmann::json& value, const char* key) const {
    if (!value.is_number_integer()) fail(std::string("\"") + key + "\" is not a whole number");
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      fail(std::string("\"") + key + "\" is larger than 2^63 - 1");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] std::optional<std::int64_t> whole_maybe(const char* key) const {
    const nlohmann::json* value = find(key);
    if (!value) return std::nullopt;
    return whole(*value, key);
  }
  [[nodiscard]] std::optional<double> real_maybe(const char* key) const {
    const nlohmann::json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_number()) fail(std::string("\"") + key + "\" is not a number");
    return value->get<double>();
  }

  [[nodiscard]] std::vector<std::string> words(const char* key) const {
    std::vector<std::string> all;
    const nlohmann::json* value = find(key);
    if (!value) return all;
    if (!value->is_array()) fail(std::string("\"") + key + "\" is not a list");
    for (const auto& word : *value) {
      if (!word.is_string()) fail(std::string("\"") + key + "\" holds something other than text");
      all.push_back(word.get<std::string>());
    }
    return all;
  }
  [[nodiscard]] std::map<std::string, std::string> table(const char* key) const {
    std::map<std::string, std::string> all;
    const nlohmann::json* value = find(key);
    if (!value) return all;
    if (!value->is_object()) fail(std::string("\"") + key + "\" is not an object");
    for (const auto& [name, word] : value->items()) {
      if (!word.is_string()) fail(std::string("\"") + key + "\" holds something other than text");
      all.emplace(name, word.get<std::string>());
    }
    return all;
  }

  [[nodiscard]] Params params(const nlohmann::json& value) const {
    if (!value.is_object()) fail("\"params\" is not an object");
    Params all;
    for (const auto& [name, v] : value.items()) {
      if (v.is_string())
        all.emplace(name, v.get<std::string>());
      else
        all.emplace(name, whole(v, "params"));
    }
    // Until November 2026 this parameter was called as that of the kernel `faults`, a number.
    if (const auto old = all.find("pages"); old != all.end() && old->second.index() == 1) {
      all.emplace("pagesize", old->second);
      all.erase(old);
    }
    return all;
  }

  /// A witness, or one with its point, under the names that recount has used since November 2026.
  [[nodiscard]] static std::string current_name(std::string name) {
    for (const auto& [old, now] :
         {std::pair("~pages=huge", "~placement=512"), std::pair("~pages=", "~placement="),
          std::pair(" pages=small", " pagesize=small"), std::pair(" pages=huge", " pagesize=huge")})
      if (const auto at = name.find(old); at != std::string::npos)
        name.replace(at, std::string_view(old).size(), now);
    return name;
  }

  /// What observations, failures and sections share.
  template <class Line>
  void common(Line& line) const {
    line.run = text("run");
    line.kernel = text("kernel");
    line.params = params(need("params"));
    const std::int64_t repetition = whole(need("repetition"), "repetition");
    if (repetition < 0 || repetition > std::numeric_limits<int>::max())
      fail("\"repetition\" is out of range");
    line.repetition = static_cast<int>(repetition);
    if constexpr (requires { line.witness; }) line.witness = current_name(text("witness"));
  }

private:
  const nlohmann::json& object_;
  std::string where_;
};

namespace {

Run parse_run(const Fields& fields, const std::string& where) {
  const std::string stated = fields.text("schema");
  if (stated != schema && stated != old_schema)
    throw bad_input(where, "the schema is \"" + stated + "\", this recount reads \"" + schema + "\"",
                    "use the recount that wrote the file, or a newer one");
  Run run;
  run.id = fields.text("run");
  run.started = fields.text_or("started");
  run.host = fields.text_or("host");
  run.cpu = fields.text_or("cpu");
  run.cpus = fields.whole_maybe("cpus").value_or(0);
  if (const nlohmann::json* caches = fields.find("caches")) {
    if (!caches->is_array()) fields.fail("\"caches\" is not a list");
    for (const auto& item : *caches) {
      const Fields cache(item, where);
      run.caches.push_back({cache.text("level"), cache.whole(cache.need("size"), "size"),
                            cache.whole_maybe("line").value_or(0), cache.whole_maybe("ways").value_or(0)});
    }
  }
  run.governor = fields.text_or("governor");
  run.os = fields.text_or("os");
  run.virtualised = fields.text_or("virtualised");
  run.versions = fields.table("versions");
  for (const char* name : job_fields)
    if (std::string value = fields.text_or(name); !value.empty()) run.versions[name] = std::move(value);
  run.command = fields.words("command");
  if (const nlohmann::json* seed = fields.find("seed")) {
    if (!seed->is_number_integer()) fields.fail("\"seed\" is not a whole number");
    run.seed = seed->get<std::uint64_t>();
  }
  run.plan = fields.table("plan");
  run.runs_planned = fields.whole_maybe("runs_planned").value_or(0);
  if (const nlohmann::json* planned = fields.find("planned")) {
    if (!planned->is_object()) fields.fail("\"planned\" is not an object");
    for (const auto& [name, n] : planned->items()) {
      const auto repetitions = fields.whole(n, "planned");
      if (repetitions < 0) fields.fail("\"planned\" holds a negative number");
      run.planned.emplace(Fields::current_name(name), repetitions);
    }
  }
  run.presets = fields.table("presets");
  run.verdicts = fields.table("verdicts");
  run.skipped = fields.table("skipped");
  run.resumes = fields.text_or("resumes");
  return run;
}

/// The number that follows `before` in a text; nothing where there is none.
std::optional<double> number_after(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == text.npos) return {};
  double number = 0;
  const char* const begin = text.data() + at + before.size();
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc{}) return {};
  return number;
}

/// A flag of recount-results/1, which was text alone. The first files stated no share: it follows from the
/// milliseconds.
Flag flag_from_text(std::string text, const Observation& o) {
  using Kind = Flag::Kind;
  const std::string_view word = std::string_view(text).substr(0, text.find(' '));
  if (text == "thermal throttling") return {Kind::thermal, text};
  if (word == "migrated") return {Kind::migrated, text};
  if (word == "sibling") return {Kind::sibling_busy, text};
  if (word == "sampled") {
    auto percent = number_after(text, "sampled "), error = number_after(text, "error ");
    return {Kind::sampled, std::move(text), percent, error};
  }
  auto percent = number_after(text, "(");
  if (word == "frequency") {
    const double from = number_after(text, "frequency ").value_or(0),
                 to = number_after(text, "to ").value_or(0);
    if (std::max(from, to) > 0) percent = 100 * std::abs(from - to) / std::max(from, to);
    return {Kind::frequency, std::move(text), percent};
  }
  const double milliseconds = 1000 * (o.seconds               ? *o.seconds
                                      : o.metric == "seconds" ? as_double(o.value).value_or(0)
                                                              : 0);
  for (const Kind kind : {Kind::steal, Kind::preempted, Kind::throttled})
    if (word == name_of(kind)) {
      const auto lost = kind == Kind::preempted ? std::nullopt : number_after(text, " ");
      if (!percent && lost && milliseconds > 0) percent = std::min(100.0, 100 * *lost / milliseconds);
      return {kind, std::move(text), percent};
    }
  if (text == "counting it crashes the process") return {Kind::papi_crashes, text};
  if (text == "the preset formula cannot be evaluated") return {Kind::unevaluated_row, text};
  if (text.starts_with("PAPI computes ")) return {Kind::other_papi_value, text};
  return {Kind::note, std::move(text)};
}

Flag parse_flag(const Fields& fields) {
  const auto kind = std::ranges::find(flag_kinds, fields.text("kind"));
  return {kind == flag_kinds.end() ? Flag::Kind::note : static_cast<Flag::Kind>(kind - flag_kinds.begin()),
          fields.text("text"), fields.real_maybe("share_percent"), fields.real_maybe("error")};
}

Observation parse_observation(const Fields& fields) {
  Observation observation;
  fields.common(observation);
  observation.metric = fields.text("metric");
  observation.reason = fields.text_or("reason");
  observation.unit = fields.text_or("unit");
  if (const nlohmann::json* value = fields.find("value")) {
    if (value->is_number_float())
      observation.value = value->get<double>();
    else
      observation.value = fields.whole(*value, "value");
  } else if (observation.reason.empty()) {
    fields.fail("neither \"value\" nor \"reason\" is given");
  }
  observation.accesses = fields.whole_maybe("accesses");
  observation.enabled_ns = fields.whole_maybe("enabled_ns");
  observation.running_ns = fields.whole_maybe("running_ns");
  observation.seconds = fields.real_maybe("seconds");
  observation.cpu_seconds = fields.real_maybe("cpu_seconds");
  observation.bias = fields.whole_maybe("bias");
  observation.nesting = fields.text_or("nesting");
  if (const nlohmann::json* placement = fields.find("placement")) {
    if (!placement->is_object()) fields.fail("\"placement\" is not an object");
    std::map<std::string, std::int64_t> stated;
    for (const auto& [name, v] : placement->items())
      stated.emplace(name, fields.whole(v, "placement"));
    observation.placement = std::move(stated);
  }
  if (const nlohmann::json* flags = fields.find("flags")) {
    if (!flags->is_array()) fields.fail("\"flags\" is not a list");
    for (const auto& flag : *flags)
      observation.flags.push_back(flag.is_string() ? flag_from_text(flag.get<std::string>(), observation)
                                                   : parse_flag({flag, fields.where()}));
  }
  return observation;
}

Section parse_section(const Fields& fields) {
  Section section;
  fields.common(section);
  section.edge = fields.text("edge");
  if (section.edge != "begin" && section.edge != "end" && section.edge != "mark")
    fields.fail("the edge \"" + section.edge.substr(0, 40) + "\" is not begin, end or mark");
  section.name = fields.text("name");
  const auto time = fields.real_maybe("time");
  if (!time || !(*time >= 0)) fields.fail("\"time\" is not a number of seconds");
  section.time = *time;
  return section;
}

nlohmann::json parse(std::string_view text, const std::string& where) {
  if (text.find('\0') != std::string_view::npos)
    throw bad_input(where, "contains a NUL byte: not a results file of recount");
  nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (object.is_discarded()) throw bad_input(where, "is not JSON: not a results file of recount, or damaged");
  return object;
}

} // namespace

Params parse_params(std::string_view json, const std::string& where) {
  const nlohmann::json object = parse(json, where);
  return Fields(object, where).params(object);
}

Line parse_line(std::string_view text, const std::string& where) {
  const nlohmann::json object = parse(text, where);
  const Fields fields(object, where);
  const std::string type = fields.text("type");
  if (type == "run") return parse_run(fields, where);
  if (type == "observation") return parse_observation(fields);
  if (type == "failure") {
    Failure failure;
    fields.common(failure);
    failure.reason = fields.text("reason");
    return failure;
  }
  if (type == "section") return parse_section(fields);
  fields.fail("the type \"" + type.substr(0, 40) + "\" is not run, observation, failure or section");
}

namespace {

std::string text(const Json& json) {
  return dumped(json);
}

Json json(const Params& params) {
  Json object = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&](const auto& v) { object[name] = v; }, value);
  return object;
}

Json json(const CacheNote& cache) {
  return {{"level", cache.level}, {"size", cache.size}, {"line", cache.line}, {"ways", cache.ways}};
}

/// What observations, failures and sections share.
template <class Line>
Json start(const char* type, const Line& line) {
  const std::string& run = line.run;
  Json object{{"type", type}, {"run", run}, {"kernel", line.kernel}};
  object["params"] = json(line.params);
  object["repetition"] = line.repetition;
  if constexpr (requires { line.witness; }) object["witness"] = line.witness;
  return object;
}

/// JSON has no infinities: such a value is no value.
std::string unusable(const Number& value) {
  const auto* real = std::get_if<double>(&value);
  return real && !std::isfinite(*real) ? "the value is not a finite number" : "";
}

} // namespace

std::string params_json(const Params& params) {
  return text(json(params));
}

std::string to_line(const Run& run) {
  Json object{{"type", "run"}, {"schema", schema}, {"run", run.id}, {"started", run.started}};
  object["host"] = run.host;
  std::map<std::string, std::string> versions = run.versions;
  for (const char* name : job_fields)
    if (const auto stated = versions.extract(name)) object[name] = stated.mapped();
  object["cpu"] = run.cpu;
  object["cpus"] = run.cpus;
  object["caches"] = Json::array();
  for (const auto& cache : run.caches)
    object["caches"].push_back(json(cache));
  object["governor"] = run.governor.empty() ? Json() : Json(run.governor);
  object["os"] = run.os;
  object["virtualised"] = run.virtualised.empty() ? Json() : Json(run.virtualised);
  object["versions"] = versions;
  object["command"] = run.command;
  object["seed"] = run.seed;
  object["plan"] = run.plan;
  if (run.runs_planned > 0) object["runs_planned"] = run.runs_planned;
  if (!run.planned.empty()) object["planned"] = run.planned;
  if (!run.presets.empty()) object["presets"] = run.presets;
  if (!run.verdicts.empty()) object["verdicts"] = run.verdicts;
  if (!run.skipped.empty()) object["skipped"] = run.skipped;
  if (!run.resumes.empty()) object["resumes"] = run.resumes;
  return text(object);
}

std::string to_line(const Observation& observation) {
  Json object = start("observation", observation);
  object["metric"] = observation.metric;
  std::string reason = observation.reason;
  if (const auto* whole = std::get_if<std::int64_t>(&observation.value)) {
    object["value"] = *whole;
  } else if (const auto* real = std::get_if<double>(&observation.value); real && std::isfinite(*real)) {
    object["value"] = *real;
  } else {
    object["value"] = nullptr;
    if (reason.empty()) reason = unusable(observation.value);
    if (reason.empty()) reason = "no reason given";
  }
  if (!reason.empty()) object["reason"] = reason;
  if (!observation.unit.empty()) object["unit"] = observation.unit.get();
  if (observation.accesses) object["accesses"] = *observation.accesses;
  if (observation.enabled_ns) object["enabled_ns"] = *observation.enabled_ns;
  if (observation.running_ns) object["running_ns"] = *observation.running_ns;
  if (observation.seconds && std::isfinite(*observation.seconds)) object["seconds"] = *observation.seconds;
  if (observation.cpu_seconds && std::isfinite(*observation.cpu_seconds))
    object["cpu_seconds"] = *observation.cpu_seconds;
  if (observation.bias) object["bias"] = *observation.bias;
  if (!observation.nesting.empty()) object["nesting"] = observation.nesting.get();
  if (!observation.placement.empty()) object["placement"] = observation.placement.get();
  for (const Flag& flag : observation.flags) {
    Json one{{"kind", name_of(flag.kind)}, {"text", flag.text}};
    if (flag.share && std::isfinite(*flag.share)) one["share_percent"] = *flag.share;
    if (flag.error && std::isfinite(*flag.error)) one["error"] = *flag.error;
    object["flags"].push_back(std::move(one));
  }
  return text(object);
}

std::string to_line(const Failure& failure) {
  Json object = start("failure", failure);
  object["reason"] = failure.reason;
  return text(object);
}

std::string to_line(const Section& section) {
  Json object = start("section", section);
  object["edge"] = section.edge;
  object["name"] = section.name;
  object["time"] = section.time;
  return text(object);
}

} // namespace recount::result
