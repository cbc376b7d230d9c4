#include "run/program.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "kernel/command_line.hpp"
#include "kernel/point.hpp"
#include "run/modelled.hpp"
#include "run/papi_passes.hpp"
#include "run/stat_run.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

namespace recount::sweep {
namespace {

const char* const example = "-P n=600:3000:400 -P impl=simple,line -- ./mm {impl} {n}";

bool is_name(const std::string& text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, plain);
}

/// Numbers where every item begins with a digit and one of them is a range, or all are numbers.
std::vector<result::ParamValue> parse_values(const std::string& text, const std::string& subject) {
  const auto items = base::split(text, ',');
  const auto digit = [](std::string_view item) {
    return !item.empty() && std::isdigit(static_cast<unsigned char>(item[0])) != 0;
  };
  const auto number = [](std::string_view item) { return base::parse_size(item).has_value(); };
  const bool range = text.find(':') != text.npos && std::ranges::all_of(items, digit);
  if (range || std::ranges::all_of(items, number)) {
    const auto numbers = parse_range(text, subject);
    return {numbers.begin(), numbers.end()};
  }
  std::vector<result::ParamValue> words;
  for (const std::string_view item : items) {
    if (item.empty()) throw bad_input(subject, text.empty() ? "has no value" : "an item is empty", example);
    if (as_utf8(std::string(item)) != item)
      throw bad_input(subject, "contains bytes that are not UTF-8, which a results file cannot hold",
                      "give the value another name, and let a script replace it");
    const result::ParamValue word = std::string(item);
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

/// Each list of words that is filled in, with the option that it is from.
template <class Text, class Visit>
void for_each_text(Text& program, const Visit& visit) {
  visit(program.command, "COMMAND");
  visit(program.prepare, "--prepare");
  visit(program.environment, "-E");
  for (const auto& [text, option] :
       {std::pair(&program.folder, "--chdir"), std::pair(&program.input, "--input")}) {
    std::vector<std::string> one{*text};
    visit(one, option);
    if constexpr (!std::is_const_v<Text>) *text = one.front();
  }
}

} // namespace

Program Program::at(const result::Params& point) const {
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : point)
    values[name] = result::text(value);
  Program filled = *this;
  for_each_text(filled, [&](std::vector<std::string>& words, const char* option) {
    words = kernel::filled_in(std::move(words), values, option);
  });
  return filled;
}

bool Program::uses(result::Params point, const std::string& parameter) const {
  point[parameter] = "";
  const Program without = at(point);
  point[parameter] = "x";
  return at(point) != without;
}

std::map<std::string, std::string> Program::settings() const {
  std::map<std::string, std::string> all{{"command", kernel::quoted(command)}};
  for_each_text(*this, [&](const std::vector<std::string>& words, const std::string& option) {
    if (option.starts_with('-') && !words.empty() && !words.front().empty())
      all[option] = kernel::quoted(words);
  });
  if (warm_up > 0) all["--warm-up"] = std::to_string(warm_up);
  if (sample > 0) all["--sample-every"] = std::to_string(sample);
  return all;
}

std::vector<std::string> Program::arguments() const {
  std::vector<std::string> all{fmt::format("--warm-up={}", warm_up),
                               fmt::format("--sample-every={}", sample)};
  for (const std::string& one : environment)
    all.push_back("--environment=" + one);
  if (!prepare.empty()) all.push_back("--prepare=" + kernel::quoted(prepare));
  if (!folder.empty()) all.push_back("--chdir=" + folder);
  if (!input.empty()) all.push_back("--input=" + input);
  all.emplace_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

std::vector<Axis> parse_program_axes(const std::vector<std::string>& texts) {
  std::vector<Axis> axes;
  std::size_t points = 1;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals), subject = fmt::format("-P {:.80}", text);
    if (equals == text.npos || !is_name(name))
      throw bad_input(subject, "is not NAME=VALUES, with letters, digits and _ in NAME", example);
    if (std::ranges::count(axes, name, &Axis::name) > 0)
      throw bad_input(subject, "the parameter is given twice", "use a list: -P " + name + "=1,2:8:x2");
    axes.push_back({name, parse_values(text.substr(equals + 1), subject)});
    points *= axes.back().values.size(); // of less than 2^24 (parse_range()) and max_program_points
    if (points > max_program_points)
      throw bad_input(subject, fmt::format("the grid has more than {} points", max_program_points),
                      "use fewer values or several sweeps");
  }
  return axes;
}

void check_program(const Program& program, const std::vector<Axis>& axes) {
  if (program.command.empty()) throw bad_input("recount sweep -P", "no command is given", example);
  for (const std::string& one : program.environment)
    if (!is_name(one.substr(0, one.find('='))) || one.find('=') == one.npos)
      throw bad_input("-E " + one, "is not NAME=TEXT", "-E OMP_NUM_THREADS={t}");
  result::Params point;
  for (const Axis& axis : axes)
    point[axis.name] = "";
  for (const Axis& axis : axes)
    if (!program.uses(point, axis.name) && axis.name != section_parameter)
      throw bad_input("-P " + axis.name, "nothing uses the parameter",
                      fmt::format("write {{{}}} in the command, in -E or in --chdir", axis.name));
}

namespace {

class ProgramKernel : public kernel::BasicKernel {
public:
  explicit ProgramKernel(std::vector<kernel::Parameter> parameters)
      : BasicKernel(program_kernel, "the user's program", std::move(parameters)) {}
  [[nodiscard]] std::int64_t bytes(const kernel::Params&) const override { return 0; }
  [[nodiscard]] std::unique_ptr<kernel::Instance> prepare(const kernel::Params&) const override {
    throw unavailable(name(), "is executed by observe_program()");
  }
};

} // namespace

std::unique_ptr<kernel::Kernel> make_program_kernel(const std::vector<Axis>& axes) {
  std::vector<kernel::Parameter> parameters;
  for (const Axis& axis : axes) {
    kernel::Parameter& one = parameters.emplace_back();
    one.name = axis.name;
    one.fallback = axis.values.front();
    one.least = 0;
    if (std::holds_alternative<std::string>(one.fallback)) one.unit = kernel::Parameter::Unit::text;
  }
  return std::make_unique<ProgramKernel>(std::move(parameters));
}

std::pair<std::string, result::ParamValue> parse_baseline(const std::string& text,
                                                          const std::vector<Axis>& axes) {
  const std::size_t equals = std::min(text.find('='), text.size());
  for (const Axis& axis : axes)
    for (const result::ParamValue& value : axis.values)
      if (axis.name == text.substr(0, equals) && equals < text.size() &&
          (result::text(value) == text.substr(equals + 1) ||
           (value.index() == 0 && base::parse_size(text.substr(equals + 1)) == std::get<0>(value))))
        return {axis.name, value};
  throw bad_input(
      "--baseline " + text, "is no value of a parameter of -P",
      fmt::format("--baseline {}={}", axes.front().name, result::text(axes.front().values.front())));
}

result::Results with_speed_up(result::Results results) {
  std::map<std::string, std::pair<std::string, std::string>> baselines; // by run
  for (const result::Run& run : results.runs)
    if (const auto stated = run.plan.find("baseline"); stated != run.plan.end()) {
      const std::size_t equals = std::min(stated->second.find('='), stated->second.size() - 1);
      baselines[run.id] = {stated->second.substr(0, equals), stated->second.substr(equals + 1)};
    }
  std::map<std::pair<result::Params, int>, double> seconds; // of baselines, without their parameter
  std::vector<result::Observation> others;
  for (const result::Observation& o : results.observations) {
    const auto baseline = baselines.find(o.run.get());
    const auto value = result::as_double(o.value);
    if (baseline == baselines.end() || o.witness != Witness::clock || !is_seconds(o.metric) || !value)
      continue;
    result::Params rest = o.params.get();
    const auto at = rest.find(baseline->second.first);
    if (at == rest.end()) continue;
    if (result::text(at->second) != baseline->second.second) {
      others.push_back(o);
      continue;
    }
    rest.erase(at);
    seconds[{std::move(rest), o.repetition}] = *value;
  }
  for (result::Observation& o : others) {
    result::Params rest = o.params.get();
    rest.erase(baselines.at(o.run.get()).first);
    const auto base = seconds.find({std::move(rest), o.repetition});
    const double own = *result::as_double(o.value);
    if (base == seconds.end() || own <= 0) continue;
    o.metric = speed_up;
    o.value = base->second / own;
    results.observations.push_back(std::move(o));
  }
  return results;
}

// One execution.
namespace {

/// Standard output of this process, which may be the answer of the run, leads to /dev/null meanwhile.
class NoOutput {
public:
  NoOutput() : kept_(::dup(STDOUT_FILENO)), null_(process::null_output()) {
    ::dup2(null_.get(), STDOUT_FILENO);
  }
  NoOutput(const NoOutput&) = delete;
  NoOutput& operator=(const NoOutput&) = delete;
  ~NoOutput() { ::dup2(kept_.get(), STDOUT_FILENO); }

private:
  process::Fd kept_, null_;
};

/// What is observed of a point; empty: the whole program.
std::string find_section(const Program& of, const result::Params& point) {
  const auto stated = point.find(section_parameter);
  if (stated == point.end() || of.uses(point, section_parameter)) return {};
  const std::string name = result::text(stated->second);
  return name == whole_program ? "" : name;
}

/// The rows of a task's witness, and how they are counted.
struct Counting {
  stat::Plan plan;
  std::vector<stat::PapiNames> sets;
  std::vector<stat::ModelledRows> models;
  std::vector<stat::Pass> passes;

  Counting(const witness::Task& task, const stat::Request& request) {
    const auto metrics = metric::load({});
    auto items = stat::parse_items(task.metrics);
    if (task.witness.kind == Witness::perf || task.witness.kind == Witness::papi)
      plan = stat::make_plan(items, metrics, stat::parse_domain(""));
    if (task.witness.kind == Witness::papi) {
      sets = stat::add_papi(plan, false);
      passes = stat::papi_passes(plan, sets, false, request);
    } else if (task.witness.modelled()) {
      std::erase_if(items, [&](const auto& item) { return metric::find(metrics, item.name) != nullptr; });
      models = stat::add_modelled(plan, items, {task.witness}, request.sample);
      passes = stat::model_passes(plan, models, request);
    } else {
      passes = {stat::perf_pass(plan, request)};
    }
  }
};

void enter(const Program& program) {
  for (const std::string& one : program.environment) {
    const std::size_t equals = one.find('=');
    ::setenv(one.substr(0, equals).c_str(), one.c_str() + equals + 1, 1);
  }
  if (!program.folder.empty() && ::chdir(program.folder.c_str()) != 0)
    throw unavailable("--chdir " + program.folder, std::strerror(errno));
}

} // namespace

std::vector<result::Observation> observe_program(const Program& of, const witness::Task& task) {
  const Program program = of.at(task.point);
  stat::Request request;
  request.command = program.command;
  request.prepare = program.prepare;
  request.input = process::Input(program.input.empty() ? "/dev/null" : program.input);
  request.section = find_section(of, task.point);
  request.sample = program.sample;
  if (task.repetition == 0 && !task.witness.modelled()) request.warm_up = program.warm_up;
  std::vector<result::Observation> all;
  if (task.witness == Witness::papi && !request.section.empty()) {
    for (const std::string& metric : task.metrics)
      all.emplace_back(witness::blank_observation(task, metric)).reason =
          Reason("PAPI counts a program from its start to its end, perf and models its sections");
    return all;
  }
  enter(program);
  const Counting counting(task, request);
  stat::RunResult ended;
  std::optional<stat::MarkedSection> section;
  {
    const NoOutput silent;
    const process::HeldSignals signals;
    stat::warm_up(ended, request, signals);
    if (!request.section.empty() && !task.witness.modelled()) {
      section.emplace(request.section);
      request.control = &*section;
      request.delay = std::chrono::hours(480); // until it begins: no run may take longer
      ::setenv(base::sections_variable, std::to_string(process::free_descriptor()).c_str(), 1);
    }
    if (ended.goes_on())
      stat::add_repetition(ended, counting.plan, request, counting.passes, task.repetition, signals);
  }
  if (ended.error) std::rethrow_exception(ended.error);
  if (ended.cut_short || ended.repetitions.empty())
    throw unavailable(program.command.front(), stat::interruption_text(ended));
  stat::Slice& slice = ended.repetitions.front();
  const std::string missing = section ? section->missing(task.witness != Witness::clock) : "";
  if (section) slice.end = section->seconds();
  if (section) slice.rows = stat::evaluate(counting.plan, slice.counts, slice.end);
  for (const std::string& metric : task.metrics) {
    auto& o = all.emplace_back();
    const auto row = std::ranges::find_if(
        slice.rows, [&](const auto& one) { return one.metric == metric && one.witness == task.witness; });
    if (row != slice.rows.end()) o = *row;
    const result::Observation blank = witness::blank_observation(task, metric);
    std::tie(o.run, o.kernel, o.params, o.repetition, o.witness, o.metric) =
        std::tie(blank.run, blank.kernel, blank.params, blank.repetition, blank.witness, blank.metric);
    o.seconds = slice.end;
    if (!missing.empty()) {
      o.value = {};
      o.reason = missing;
    } else if (task.witness == Witness::clock && is_seconds(metric))
      o.value = slice.end;
    else if (row == slice.rows.end())
      o.reason = Reason(task.witness.modelled() ? "the model has no derived metrics"
                                                : "is not counted of a program");
  }
  return all;
}

Program& this_command() {
  static Program program;
  return program;
}

} // namespace recount::sweep
