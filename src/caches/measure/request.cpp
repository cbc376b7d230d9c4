#include "caches/measure/request.hpp"

#include "recount/error.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace recount::study {

using RequestJson = nlohmann::json;

namespace {
constexpr std::size_t longest_caches_request = 1 << 16;
constexpr std::string_view stage_begin = R"({"stage":)";
} // namespace

std::string to_caches_request(const CachesTask& task) {
  return RequestJson{{"witness", task.witness},
                     {"metrics", task.metrics},
                     {"most_bytes", task.most_bytes},
                     {"seed", task.seed},
                     {"grid", task.grid}}
      .dump();
}

CachesTask read_caches_request(int fd) {
  std::string text;
  char block[4096];
  for (ssize_t got = 1; got != 0 && text.size() <= longest_caches_request;) {
    got = ::read(fd, block, sizeof block);
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(block, static_cast<std::size_t>(got));
  }
  try {
    const RequestJson object = RequestJson::parse(text);
    CachesTask task;
    task.witness = object.at("witness").get<std::string>();
    task.metrics = object.at("metrics").get<std::vector<std::string>>();
    task.most_bytes = object.at("most_bytes").get<std::int64_t>();
    task.seed = object.at("seed").get<std::uint64_t>();
    task.grid = object.at("grid").get<bool>();
    return task;
  } catch (const RequestJson::exception&) {
    throw bad_input("caches-worker", "stdin has no request of recount caches",
                    "run recount caches, which starts this command itself");
  }
}

std::string stage_line(const std::string& name) {
  return RequestJson{{"stage", name}}.dump();
}

std::optional<std::string> stage_of(std::string_view line) {
  if (!line.starts_with(stage_begin)) return {};
  try {
    return RequestJson::parse(line).at("stage").get<std::string>();
  } catch (const RequestJson::exception&) {
    return {};
  }
}

} // namespace recount::study
