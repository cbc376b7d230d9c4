#include "base/json.hpp"
#include "base/text.hpp"
#include "caches/measure/study.hpp"

#include "recount/error.hpp"

namespace recount::caches {

namespace {
constexpr std::size_t longest_caches_request = 1 << 16;
constexpr std::string_view stage_begin = R"({"stage":)";
} // namespace

std::string to_caches_request(const CachesTask& task) {
  return Json{{"witness", task.witness}, {"metrics", task.metrics}, {"most_bytes", task.most_bytes},
              {"seed", task.seed},       {"patient", task.patient}, {"grid", task.grid}}
      .dump();
}

CachesTask read_caches_request(int fd) {
  const std::string text = base::read_all(fd, longest_caches_request).value_or("");
  try {
    const Json object = Json::parse(text);
    CachesTask task;
    task.witness = object.at("witness").get<std::string>();
    task.metrics = object.at("metrics").get<std::vector<std::string>>();
    task.most_bytes = object.at("most_bytes").get<std::int64_t>();
    task.seed = object.at("seed").get<std::uint64_t>();
    task.patient = object.at("patient").get<bool>();
    task.grid = object.at("grid").get<bool>();
    return task;
  } catch (const Json::exception&) {
    throw bad_input("caches-worker", "stdin has no request of recount caches",
                    "run recount caches, which starts this command itself");
  }
}

std::string stage_line(const std::string& name) {
  return Json{{"stage", name}}.dump();
}

std::optional<std::string> stage_of(std::string_view line) {
  if (!line.starts_with(stage_begin)) return {};
  try {
    return Json::parse(line).at("stage").get<std::string>();
  } catch (const Json::exception&) {
    return {};
  }
}

} // namespace recount::caches
