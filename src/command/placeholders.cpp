#include "command/placeholders.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace recount::command {
namespace {

std::string number_text(std::optional<std::size_t> number) {
  return number ? std::to_string(*number) : std::string();
}

std::string value_of(const std::string& option, const std::string& text, const std::string& name,
                     const host::Job& job, const std::string& host) {
  const std::pair<const char*, std::string> known[] = {
      {"host", host},
      {"node", job.node.empty() ? host : job.node},
      {"job", job.id},
      {"step", job.step},
      {"task", number_text(job.task)},
      {"rank", number_text(job.task)},
      {"tasks", job.tasks > 0 ? std::to_string(job.tasks) : std::string()},
      {"pid", std::to_string(::getpid())},
  };
  for (const auto& [key, value] : known) {
    if (name != key) continue;
    if (value.empty())
      throw bad_input(option + " " + text, "no launcher states the value of {" + name + "}",
                      "run it under srun, sbatch, mpirun or parallel, or use {host} or {pid}");
    return value;
  }
  throw bad_input(option + " " + text, "unknown placeholder {" + name + "}",
                  "use {host}, {node}, {job}, {step}, {task}, {rank}, {tasks} or {pid}; {{ is a literal {");
}

} // namespace

std::string replace_placeholders(const std::string& option, const std::string& text, const host::Job& job,
                                 const std::string& host) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '{') {
      made += text[at++];
    } else if (text.substr(at, 2) == "{{") {
      made += '{';
      at += 2;
    } else {
      const std::size_t end = text.find('}', at);
      if (end == text.npos) throw bad_input(option + " " + text, "a { without }", "{{ is a literal {");
      made += value_of(option, text, text.substr(at + 1, end - at - 1), job, host);
      at = end + 1;
    }
  }
  return made;
}

std::string replace_placeholders(const std::string& option, const std::string& text) {
  if (text.find('{') == text.npos) return text;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::string host = name;
  std::ranges::replace(host, '/', '_');
  return replace_placeholders(option, text, host::this_job(), host);
}

} // namespace recount::command
