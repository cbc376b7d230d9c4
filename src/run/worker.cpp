#include "run/worker.hpp"

#include "base/json.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "model/trace/request.hpp"
#include "run/program.hpp"

#include <recount/error.hpp>

#include <chrono>
#include <cstddef>
#include <new>
#include <utility>
#include <variant>

namespace recount::sweep {

namespace {

constexpr std::size_t longest_request = 1 << 20;

std::vector<result::Observation> native(const kernel::Kernel& kernel, const witness::Backend& witness,
                                        const witness::Task& task) {
  const auto instance = [&] {
    const trace::Pause pause;
    return kernel.prepare(task.point);
  }();
  instance->warm();
  auto all = witness.observe(kernel, instance.get(), task);
  const kernel::Placement at = instance->placement();
  if (at.base == 0) return all;
  for (auto& observation : all) {
    observation.placement = {{"base", static_cast<std::int64_t>(at.base)},
                             {"offset", at.offset},
                             {"page", at.page},
                             {"huge_bytes", at.huge_bytes}};
  }
  return all;
}

std::vector<result::Observation> observe(const kernel::Kernel& kernel, const witness::Task& task) {
  const auto& witness = witness::find(task.witness);
  return witness.native ? native(kernel, witness, task) : witness.observe(kernel, nullptr, task);
}

/// Reports the share of a simulation that is done, ten times a second at most.
class ProgressWriter {
public:
  explicit ProgressWriter(int out) : out_(out) {}
  void operator()(double share) {
    const auto now = std::chrono::steady_clock::now();
    if (share <= reported_ || now < next_) return;
    reported_ = share;
    next_ = now + std::chrono::milliseconds(100);
    // A reader that is gone is noticed at the end.
    static_cast<void>(process::write_all(out_, progress_line(share) + '\n'));
  }

private:
  int out_;
  double reported_ = 0;
  std::chrono::steady_clock::time_point next_{}; ///< the first share is reported at once
};

std::string answer(const std::string& request, const Lookup& lookup, int out) {
  witness::Task task = parse_request(request);
  task.progress = ProgressWriter(out);
  const auto begin = std::chrono::steady_clock::now();
  const auto all = task.kernel == program_kernel ? observe_program(this_command(), task)
                                                 : observe(lookup(task.kernel), task);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const trace::Pause pause; // writing results is not measured
  std::string text;
  for (const auto& observation : all)
    text += to_line(observation) + '\n';
  return text + done_line(took.count()) + '\n';
}

} // namespace

std::string to_request(const witness::Task& task) {
  const Json object{{"run", task.run},
                    {"kernel", task.kernel},
                    {"params", dumped(result::make_json(task.point))},
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

int serve_request(const std::string& request, int out, const Lookup& lookup) {
  std::string text;
  int status = 0;
  try {
    text = answer(request, lookup, out);
  } catch (const Error& error) {
    text = failed_line(error.problem().about(error.problem().subject)) + '\n';
    status = error.kind() == ErrorKind::bad_input ? 2 : 3;
  } catch (const std::bad_alloc&) {
    text = failed_line("out of memory") + '\n';
    status = 3;
  }
  return process::write_all(out, text) ? status : 3;
}

int serve(int in, int out, const Lookup& lookup) {
  return serve_request(base::read_all(in, longest_request).value_or(""), out, lookup);
}

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

std::string failed_line(const Reason& reason) {
  result::Failure failure;
  failure.reason = reason;
  return to_line(failure);
}

Answer parse_answer(std::string_view text) {
  Answer answer;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const std::string where = "answer:" + std::to_string(number);
    if (line.starts_with(R"({"type":"observation")") || line.starts_with(R"({"type":"failure")")) {
      auto parsed = result::parse_line(line, where);
      if (auto* const observation = std::get_if<result::Observation>(&parsed))
        answer.observations.push_back(std::move(*observation));
      else if (auto* const failure = std::get_if<result::Failure>(&parsed))
        answer.failed = std::move(failure->reason);
      else
        throw bad_input(where, "is not a line of an answer");
      continue;
    }
    try {
      answer.kernel_seconds = Json::parse(line).at("kernel_seconds").get<double>();
    } catch (const Json::exception&) {
      throw bad_input(where, "is not a line of an answer");
    }
  }
  return answer;
}

} // namespace recount::sweep
