#include "base/json.hpp"
#include "result/observation.hpp"
#include "sweep/serve.hpp"

#include <recount/error.hpp>

namespace recount::sweep {

std::string to_request(const witness::Task& task) {
  const Json object{{"run", task.run},
                    {"kernel", task.kernel},
                    {"params", result::params_json(task.point)},
                    {"repetition", task.repetition},
                    {"witness", task.witness},
                    {"metrics", task.metrics}};
  return dumped(object);
}

witness::Task parse_request(std::string_view text) {
  try {
    const Json object = Json::parse(text);
    witness::Task task;
    task.run = object.at("run").get<std::string>();
    task.kernel = object.at("kernel").get<std::string>();
    task.point = result::parse_params(object.at("params").get<std::string>(), "the request's params");
    task.repetition = object.at("repetition").get<int>();
    task.witness = object.at("witness").get<std::string>();
    task.metrics = object.at("metrics").get<std::vector<std::string>>();
    return task;
  } catch (const Json::exception&) {
    throw bad_input("run-point", "no request of recount sweep on stdin",
                    "run recount sweep, which starts this command itself");
  }
}

} // namespace recount::sweep
