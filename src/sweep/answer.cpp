#include "sweep/answer.hpp"
#include "base/json.hpp"
#include "result/observation.hpp"

#include <recount/error.hpp>

namespace recount::sweep {

namespace {

constexpr std::string_view progress_start = R"({"progress":)";

} // namespace

std::string progress_line(double share) {
  return Json{{"progress", share}}.dump();
}

std::optional<double> take_progress(std::string& text) {
  std::optional<double> share;
  std::size_t end = 0, begin = 0;
  while (text.compare(begin, progress_start.size(), progress_start) == 0 &&
         (end = text.find('\n', begin)) != text.npos) {
    const Json line = Json::parse(std::string_view(text).substr(begin, end - begin), nullptr, false);
    if (line.is_object() && line.at("progress").is_number()) share = line.at("progress").get<double>();
    begin = end + 1;
  }
  text.erase(0, begin);
  return share;
}

std::string done_line(double kernel_seconds) {
  return Json{{"type", "done"}, {"kernel_seconds", kernel_seconds}}.dump();
}

std::string failed_line(const std::string& reason) {
  return dumped(Json{{"type", "failed"}, {"reason", reason}});
}

Answer parse_answer(std::string_view text) {
  Answer answer;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.starts_with(R"({"type":"observation")")) {
      const std::string where = "answer:" + std::to_string(number);
      auto parsed = result::parse_line(line, where);
      auto* observation = std::get_if<result::Observation>(&parsed);
      if (!observation) throw bad_input(where, "is not a line of an answer");
      answer.observations.push_back(std::move(*observation));
      continue;
    }
    try {
      const Json object = Json::parse(line);
      if (object.contains("reason"))
        answer.failed = object.at("reason").get<std::string>();
      else
        answer.kernel_seconds = object.at("kernel_seconds").get<double>();
    } catch (const Json::exception&) {
      throw bad_input("answer:" + std::to_string(number), "is not a line of an answer");
    }
  }
  return answer;
}

} // namespace recount::sweep
