#include "result/job_fields.hpp"
#include "result/line_fields.hpp"
#include "result/observation.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <recount/error.hpp>

namespace recount::result {
namespace {

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
  observation.flags = fields.words("flags");
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

} // namespace recount::result
