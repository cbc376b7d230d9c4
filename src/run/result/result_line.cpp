#include "base/json.hpp"
#include "base/names.hpp"
#include "run/result/observation.hpp"

#include <recount/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <fmt/format.h>
#include <limits>

// One JSON object of a results file, field by field.
namespace recount::result {
namespace {

/// Text members of a run under their own names.
constexpr std::pair<const char*, std::string Run::*> text_members[] = {
    {"started", &Run::started},   {"host", &Run::host}, {"cpu", &Run::cpu},
    {"governor", &Run::governor}, {"os", &Run::os},     {"virtualised", &Run::virtualised},
    {"resumes", &Run::resumes}};
constexpr std::pair<const char*, std::map<std::string, std::string> Run::*> table_members[] = {
    {"versions", &Run::versions},
    {"plan", &Run::plan},
    {"presets", &Run::presets},
    {"skipped", &Run::skipped}};
constexpr std::pair<const char*, std::optional<std::int64_t> Observation::*> whole_members[] = {
    {"accesses", &Observation::accesses},
    {"enabled_ns", &Observation::enabled_ns},
    {"running_ns", &Observation::running_ns}};
constexpr std::pair<const char*, std::optional<double> Observation::*> real_members[] = {
    {"seconds", &Observation::seconds}, {"cpu_seconds", &Observation::cpu_seconds}};

template <class T>
concept Map = requires {
  typename T::mapped_type;
};

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
  [[nodiscard]] const std::string& where() const { return where_; }

  /// Null where the member is absent or null.
  [[nodiscard]] const nlohmann::json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] const nlohmann::json& need(const char* key) const {
    const nlohmann::json* value = find(key);
    if (!value) fail(fmt::format("\"{}\" is missing", key));
    return *value;
  }
  template <class T>
  [[nodiscard]] T need(const char* key) const {
    return convert<T>(need(key), key);
  }
  template <class T>
  [[nodiscard]] std::optional<T> maybe(const char* key) const {
    const nlohmann::json* value = find(key);
    return value ? std::optional<T>(convert<T>(*value, key)) : std::nullopt;
  }
  /// Leaves `into` as it is where the member is absent.
  template <class T>
  void load(const char* key, T& into) const {
    if (auto value = maybe<T>(key)) into = std::move(*value);
  }
  template <class T>
  void load(const char* key, Shared<T>& into) const {
    if (auto value = maybe<T>(key)) into = std::move(*value);
  }
  template <class T>
  void load(const char* key, std::optional<T>& into) const {
    into = maybe<T>(key);
  }

  template <class T>
  [[nodiscard]] T convert(const nlohmann::json& value, const char* key) const {
    const auto require = [&](bool fits, const char* what) {
      if (!fits) fail(fmt::format("\"{}\" is not {}", key, what));
    };
    if constexpr (std::same_as<T, ParamValue>) {
      if (value.is_string()) return value.get<std::string>();
      return convert<std::int64_t>(value, key);
    } else if constexpr (Map<T>) {
      require(value.is_object(), "an object");
      T all;
      for (const auto& [name, element] : value.items())
        all.emplace(name, convert<typename T::mapped_type>(element, key));
      return all;
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      require(value.is_array(), "a list");
      T all;
      for (const auto& element : value)
        all.push_back(convert<std::string>(element, key));
      return all;
    } else {
      if constexpr (std::same_as<T, std::string>)
        require(value.is_string(), "text");
      else
        require(std::integral<T> ? value.is_number_integer() : value.is_number(),
                std::integral<T> ? "a whole number" : "a number");
      if constexpr (std::integral<T>)
        if (value.is_number_unsigned() &&
            value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
          fail(fmt::format("\"{}\" is larger than 2^63 - 1", key));
      return value.get<T>();
    }
  }

  [[nodiscard]] Params params(const nlohmann::json& value) const { return convert<Params>(value, "params"); }

  /// What observations, failures and sections share.
  template <class Line>
  void common(Line& line) const {
    line.run = need<std::string>("run");
    line.kernel = need<std::string>("kernel");
    line.params = params(need("params"));
    const auto repetition = need<std::int64_t>("repetition");
    if (repetition < 0 || repetition > std::numeric_limits<int>::max())
      fail("\"repetition\" is out of range");
    line.repetition = static_cast<int>(repetition);
    if constexpr (requires { line.witness; }) line.witness = need<std::string>("witness");
  }

private:
  const nlohmann::json& object_;
  std::string where_;
};

Run parse_run(const Fields& fields) {
  const auto stated = fields.need<std::string>("schema");
  if (stated != schema)
    throw bad_input(fields.where(), "the schema is \"" + stated + "\", this recount reads \"" + schema + "\"",
                    "use the recount that wrote the file, or a newer one");
  Run run;
  run.id = fields.need<std::string>("run");
  for (const auto& [name, member] : text_members)
    fields.load(name, run.*member);
  for (const auto& [name, member] : table_members)
    fields.load(name, run.*member);
  for (const char* name : job_fields)
    if (auto value = fields.maybe<std::string>(name)) run.versions[name] = std::move(*value);
  fields.load("cpus", run.cpus);
  fields.load("command", run.command);
  fields.load("seed", run.seed);
  fields.load("runs_planned", run.runs_planned);
  if (const nlohmann::json* caches = fields.find("caches")) {
    if (!caches->is_array()) fields.fail("\"caches\" is not a list");
    for (const auto& item : *caches) {
      const Fields cache(item, fields.where());
      run.caches.push_back({cache.need<std::string>("level"), cache.need<std::int64_t>("size"),
                            cache.maybe<std::int64_t>("line").value_or(0),
                            cache.maybe<std::int64_t>("ways").value_or(0)});
    }
  }
  using Planned = std::map<std::string, std::int64_t>;
  for (const auto& [name, repetitions] : fields.maybe<Planned>("planned").value_or(Planned{})) {
    if (repetitions < 0) fields.fail("\"planned\" holds a negative number");
    run.planned.emplace(name, repetitions);
  }
  return run;
}

Flag parse_flag(const Fields& fields) {
  const auto kind = std::ranges::find(flag_kinds, fields.need<std::string>("kind"));
  return {kind == flag_kinds.end() ? Flag::Kind::note : static_cast<Flag::Kind>(kind - flag_kinds.begin()),
          fields.need<std::string>("text"), fields.maybe<double>("share_percent"),
          fields.maybe<double>("error")};
}

Reason parse_reason(const Fields& fields) {
  Reason reason;
  fields.load("reason", reason.cause);
  fields.load("setting", reason.setting);
  fields.load("fix", reason.fix);
  std::string code;
  fields.load("reason_code", code);
  reason.code = reason_code(code);
  return reason;
}

Nesting parse_nesting(const Fields& fields) {
  const auto text = fields.maybe<std::string>("nesting").value_or("");
  const auto found = std::ranges::find(nestings, text);
  if (found == nestings.end())
    fields.fail("the nesting \"" + text.substr(0, 40) + "\" is not inner, outer or apart");
  return static_cast<Nesting>(found - nestings.begin());
}

Observation parse_observation(const Fields& fields) {
  Observation observation;
  fields.common(observation);
  observation.metric = fields.need<std::string>("metric");
  observation.reason = parse_reason(fields);
  fields.load("unit", observation.unit);
  observation.nesting = parse_nesting(fields);
  fields.load("placement", observation.placement);
  const auto load = [&](const auto& members) {
    for (const auto& [name, member] : members) {
      fields.load(name, observation.*member);
      if ((observation.*member).value_or(0) < 0) fields.fail(fmt::format("\"{}\" is negative", name));
    }
  };
  load(whole_members);
  load(real_members);
  fields.load("bias", observation.bias); // of a difference of two events it may be negative
  if (const nlohmann::json* value = fields.find("value")) {
    if (value->is_number_float())
      observation.value = value->get<double>();
    else
      observation.value = fields.convert<std::int64_t>(*value, "value");
  } else if (observation.reason.empty()) {
    fields.fail("neither \"value\" nor \"reason\" is given");
  }
  if (const nlohmann::json* flags = fields.find("flags")) {
    if (!flags->is_array()) fields.fail("\"flags\" is not a list");
    for (const auto& flag : *flags)
      observation.flags.push_back(parse_flag({flag, fields.where()}));
  }
  return observation;
}

Section parse_section(const Fields& fields) {
  Section section;
  fields.common(section);
  section.edge = fields.need<std::string>("edge");
  if (section.edge != "begin" && section.edge != "end" && section.edge != "mark")
    fields.fail("the edge \"" + section.edge.substr(0, 40) + "\" is not begin, end or mark");
  section.name = fields.need<std::string>("name");
  section.time = fields.need<double>("time");
  if (!(section.time >= 0)) fields.fail("\"time\" is not a number of seconds");
  return section;
}

nlohmann::json parse(std::string_view text, const std::string& where) {
  if (text.find('\0') != std::string_view::npos)
    throw bad_input(where, "contains a NUL byte: not a results file of recount");
  // The elements of a deep nesting take 80 times the memory of the text.
  constexpr std::size_t long_line = 1 << 20;
  const auto shallow = [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    return depth < 8;
  };
  nlohmann::json object = text.size() > long_line ? nlohmann::json::parse(text, shallow, false)
                                                  : nlohmann::json::parse(text, nullptr, false);
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
  const std::string type = fields.need<std::string>("type");
  if (type == "run") return parse_run(fields);
  if (type == "observation") return parse_observation(fields);
  if (type == "failure") {
    Failure failure;
    fields.common(failure);
    failure.reason = parse_reason(fields);
    failure.reason.cause = fields.need<std::string>("reason");
    return failure;
  }
  if (type == "section") return parse_section(fields);
  fields.fail("the type \"" + type.substr(0, 40) + "\" is not run, observation, failure or section");
}

Json make_json(const Params& params) {
  Json object = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&](const auto& v) { object[name] = v; }, value);
  return object;
}

namespace {

void write_reason(Json& object, const Reason& reason) {
  for (const auto& [key, part] : {std::pair("reason", &reason.cause), std::pair("setting", &reason.setting),
                                  std::pair("fix", &reason.fix)})
    if (!part->empty()) object[key] = *part;
  if (reason.code != ReasonCode::other) object["reason_code"] = name_of(reason.code);
}

/// What observations, failures and sections share.
template <class Line>
Json start(const char* type, const Line& line) {
  const std::string& run = line.run;
  Json object{{"type", type}, {"run", run}, {"kernel", line.kernel}};
  object["params"] = make_json(line.params);
  object["repetition"] = line.repetition;
  if constexpr (requires { line.witness; }) object["witness"] = line.witness;
  return object;
}

} // namespace

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
    object["caches"].push_back(
        {{"level", cache.level}, {"size", cache.size}, {"line", cache.line}, {"ways", cache.ways}});
  object["governor"] = run.governor.empty() ? Json() : Json(run.governor);
  object["os"] = run.os;
  object["virtualised"] = run.virtualised.empty() ? Json() : Json(run.virtualised);
  object["versions"] = versions;
  object["command"] = run.command;
  object["seed"] = run.seed;
  object["plan"] = run.plan;
  if (run.runs_planned > 0) object["runs_planned"] = run.runs_planned;
  if (!run.planned.empty()) object["planned"] = run.planned;
  for (const auto& [name, member] : table_members)
    if (!object.contains(name) && !(run.*member).empty()) object[name] = run.*member;
  if (!run.resumes.empty()) object["resumes"] = run.resumes;
  return dumped(object);
}

std::string to_line(const Observation& observation) {
  Json object = start("observation", observation);
  object["metric"] = observation.metric;
  Reason reason = observation.reason;
  Json& value = object["value"] = nullptr;
  if (const auto* whole = std::get_if<std::int64_t>(&observation.value))
    value = *whole;
  else if (const auto* real = std::get_if<double>(&observation.value); real && std::isfinite(*real))
    value = *real;
  else if (reason.empty()) // JSON has no infinities
    reason = real ? "the value is not a finite number" : "no reason given";
  write_reason(object, reason);
  if (!observation.unit.empty()) object["unit"] = observation.unit.get();
  for (const auto& [name, member] : whole_members)
    if (observation.*member) object[name] = *(observation.*member);
  for (const auto& [name, member] : real_members)
    if (observation.*member && std::isfinite(*(observation.*member))) object[name] = *(observation.*member);
  if (observation.bias) object["bias"] = *observation.bias;
  if (observation.nesting != Nesting::alone)
    object["nesting"] = nestings[static_cast<std::size_t>(observation.nesting)];
  if (!observation.placement.empty()) object["placement"] = observation.placement.get();
  for (const Flag& flag : observation.flags) {
    Json one{{"kind", name_of(flag.kind)}, {"text", flag.text}};
    if (flag.share && std::isfinite(*flag.share)) one["share_percent"] = *flag.share;
    if (flag.error && std::isfinite(*flag.error)) one["error"] = *flag.error;
    object["flags"].push_back(std::move(one));
  }
  return dumped(object);
}

std::string to_line(const Failure& failure) {
  Json object = start("failure", failure);
  object["reason"] = failure.reason.cause;
  write_reason(object, failure.reason);
  return dumped(object);
}

std::string to_line(const Section& section) {
  Json object = start("section", section);
  object["edge"] = section.edge;
  object["name"] = section.name;
  object["time"] = section.time;
  return dumped(object);
}

} // namespace recount::result
