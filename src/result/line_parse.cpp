#include "result/line.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <recount/error.hpp>

namespace recount::result {
namespace {

using Json = nlohmann::json;

/// One object of a line with its place, so that every complaint says where.
class Fields {
public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("is not a JSON object");
  }

  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input(where_, cause, "recount-results(5) documents the format");
  }

  [[nodiscard]] const Json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] const Json& need(const char* key) const {
    const Json* value = find(key);
    if (!value) fail(std::string("\"") + key + "\" is missing");
    return *value;
  }

  [[nodiscard]] std::string text(const char* key) const {
    const Json& value = need(key);
    if (!value.is_string()) fail(std::string("\"") + key + "\" is not text");
    return value.get<std::string>();
  }
  [[nodiscard]] std::string text_or(const char* key) const { return find(key) ? text(key) : std::string(); }

  [[nodiscard]] std::int64_t whole(const Json& value, const char* key) const {
    if (!value.is_number_integer()) fail(std::string("\"") + key + "\" is not a whole number");
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      fail(std::string("\"") + key + "\" is larger than 2^63 - 1");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] std::optional<std::int64_t> whole_maybe(const char* key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    return whole(*value, key);
  }
  [[nodiscard]] std::optional<double> real_maybe(const char* key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_number()) fail(std::string("\"") + key + "\" is not a number");
    return value->get<double>();
  }

  [[nodiscard]] std::vector<std::string> words(const char* key) const {
    std::vector<std::string> all;
    const Json* value = find(key);
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
    const Json* value = find(key);
    if (!value) return all;
    if (!value->is_object()) fail(std::string("\"") + key + "\" is not an object");
    for (const auto& [name, word] : value->items()) {
      if (!word.is_string()) fail(std::string("\"") + key + "\" holds something other than text");
      all.emplace(name, word.get<std::string>());
    }
    return all;
  }

  [[nodiscard]] Params params(const Json& value) const {
    if (!value.is_object()) fail("\"params\" is not an object");
    Params all;
    for (const auto& [name, v] : value.items()) {
      if (v.is_string())
        all.emplace(name, v.get<std::string>());
      else
        all.emplace(name, whole(v, "params"));
    }
    return all;
  }

  /// What observations and failures share.
  template <class Line>
  void common(Line& line) const {
    line.run = text("run");
    line.kernel = text("kernel");
    line.params = params(need("params"));
    const std::int64_t repetition = whole(need("repetition"), "repetition");
    if (repetition < 0 || repetition > std::numeric_limits<int>::max())
      fail("\"repetition\" is out of range");
    line.repetition = static_cast<int>(repetition);
    line.witness = text("witness");
  }

private:
  const Json& object_;
  std::string where_;
};

Run parse_run(const Fields& fields, const std::string& where) {
  const std::string stated = fields.text("schema");
  if (stated != schema)
    throw bad_input(where, "the schema is \"" + stated + "\", this recount reads \"" + schema + "\"",
                    "use the recount that wrote the file, or a newer one");
  Run run;
  run.id = fields.text("run");
  run.started = fields.text_or("started");
  run.host = fields.text_or("host");
  run.cpu = fields.text_or("cpu");
  run.cpus = fields.whole_maybe("cpus").value_or(0);
  if (const Json* caches = fields.find("caches")) {
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
  run.command = fields.words("command");
  if (const Json* seed = fields.find("seed")) {
    if (!seed->is_number_integer()) fields.fail("\"seed\" is not a whole number");
    run.seed = seed->get<std::uint64_t>();
  }
  run.plan = fields.table("plan");
  run.resumes = fields.text_or("resumes");
  return run;
}

Observation parse_observation(const Fields& fields) {
  Observation observation;
  fields.common(observation);
  observation.metric = fields.text("metric");
  observation.reason = fields.text_or("reason");
  if (const Json* value = fields.find("value")) {
    if (value->is_number_float())
      observation.value = value->get<double>();
    else
      observation.value = fields.whole(*value, "value");
  } else if (observation.reason.empty()) {
    fields.fail("there is neither a \"value\" nor a \"reason\" why not");
  }
  observation.accesses = fields.whole_maybe("accesses");
  observation.enabled_ns = fields.whole_maybe("enabled_ns");
  observation.running_ns = fields.whole_maybe("running_ns");
  observation.seconds = fields.real_maybe("seconds");
  observation.flags = fields.words("flags");
  return observation;
}

Json parse(std::string_view text, const std::string& where) {
  if (text.find('\0') != std::string_view::npos)
    throw bad_input(where, "holds a NUL byte: this is not a results file of recount");
  Json object = Json::parse(text, nullptr, false);
  if (object.is_discarded())
    throw bad_input(where, "is not JSON: this is not a results file of recount, or it is damaged");
  return object;
}

} // namespace

Params parse_params(std::string_view json, const std::string& where) {
  const Json object = parse(json, where);
  return Fields(object, where).params(object);
}

Line parse_line(std::string_view text, const std::string& where) {
  const Json object = parse(text, where);
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
  fields.fail("the type \"" + type.substr(0, 40) + "\" is none of run, observation, failure");
}

} // namespace recount::result
