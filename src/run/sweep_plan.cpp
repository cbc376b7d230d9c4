#include "run/sweep_plan.hpp"

#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/json.hpp"
#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "kernel/matmul/matmul.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "run/program.hpp"
#include "run/witness/backend.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/view/cartesian_product.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <random>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace recount::sweep {
namespace {

namespace views = ranges::views;
constexpr std::size_t max_points = 1'000'000, max_jobs = 5'000'000;

std::size_t points(const std::vector<Axis>& axes) {
  std::size_t count = 1;
  for (const auto& axis : axes)
    if (__builtin_mul_overflow(count, axis.values.size(), &count) || count > max_points)
      throw bad_input("--" + axis.name, fmt::format("the grid has more than {} points", max_points),
                      "use fewer values or several sweeps");
  return count;
}

/// The point number `index` of the grid: a mixed-radix count with one digit an axis, the last one fastest.
result::Params point(const std::vector<Axis>& axes, std::size_t index) {
  result::Params at;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    at[axis->name] = axis->values[index % axis->values.size()];
    index /= axis->values.size();
  }
  return at;
}

} // namespace

Grid expand(const Plan& plan, const kernel::Kernel& kernel) {
  Grid grid;
  const auto all = views::iota(std::size_t{0}, points(plan.axes)) |
                   views::transform([&](std::size_t i) { return point(plan.axes, i); });
  for (const auto& given : all) {
    const result::Params at = kernel::complete(kernel, given);
    const auto broken = std::find_if(plan.conditions.begin(), plan.conditions.end(),
                                     [&](const Condition& condition) { return !condition.holds(at); });
    if (broken != plan.conditions.end()) {
      grid.skipped.push_back({at, {"--where " + broken->text, "--where " + broken->text}});
      continue;
    }
    try {
      static_cast<void>(kernel.bytes(at));
      grid.points.push_back(at);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      grid.skipped.push_back({at, error.problem()});
    }
  }
  if (grid.points.empty())
    throw bad_input("kernel " + plan.kernel,
                    fmt::format("no point of {} can be executed; {}: {}", grid.skipped.size(),
                                result::describe(grid.skipped.front().point),
                                grid.skipped.front().problem.cause),
                    "recount sweep --help " + plan.kernel);
  grid.whole = grid.points.size();
  return grid;
}

std::vector<std::string> list_metrics(const Plan& plan, const Witness& witness) {
  const auto& kind = witness::find(witness);
  if (plan.metrics.empty()) return kind.default_metrics;
  std::vector<std::string> own;
  std::copy_if(plan.metrics.begin(), plan.metrics.end(), std::back_inserter(own), kind.provides);
  return own.empty() ? plan.metrics : own; // requested by name only: the witness reports why not
}

std::vector<Job> schedule(const Plan& plan, const Grid& grid) {
  std::vector<Witness> native, model;
  for (const auto& name : plan.witnesses)
    (witness::find(name).native ? native : model).push_back(name);
  const auto round = [&](const std::vector<Witness>& witnesses, int repetition) {
    return views::cartesian_product(grid.points, witnesses) |
           views::transform([&plan, repetition](auto&& pair) {
             const auto& [at, name] = pair;
             return Job{plan.kernel, at, repetition, name, list_metrics(plan, name)};
           });
  };
  const std::size_t rounds = native.empty() ? 0 : static_cast<std::size_t>(plan.repeat);
  if (rounds * native.size() > max_jobs / grid.points.size())
    throw bad_input("--repeat", fmt::format("{} of {} are more than {} runs",
                                            base::format_count(plan.repeat, "repetition"),
                                            base::format_count(grid.points.size(), "point"), max_jobs));
  std::vector<Job> jobs;
  std::mt19937_64 random(plan.seed);
  for (int repetition = 0; static_cast<std::size_t>(repetition) < rounds; ++repetition) {
    const std::size_t from = jobs.size();
    for (auto&& job : round(native, repetition))
      jobs.push_back(job);
    base::shuffle(std::span(jobs).subspan(from), random);
  }
  for (auto&& job : round(model, 0))
    for (auto& one : modelled_jobs(job, plan.modes))
      jobs.push_back(std::move(one));
  return jobs;
}

namespace {

using kernel::Parameter;

const Parameter& parameter(const kernel::Kernel& kernel, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& p : kernel.parameters()) {
    if (p.name == name) return p;
    names.push_back("--" + p.name);
  }
  throw bad_input("--" + name, "neither an option of sweep nor a parameter of kernel " + kernel.name(),
                  base::did_you_mean("--" + name, names,
                                     fmt::format("its parameters are {}; see recount sweep --help {}",
                                                 fmt::join(names, ", "), kernel.name())));
}

std::vector<result::ParamValue> choices(const Parameter& p, const std::string& text) {
  std::vector<result::ParamValue> all;
  if (text == "all") return {p.choices.begin(), p.choices.end()};
  for (const auto view : base::split(text, ',')) {
    const std::string word(view);
    if (std::find(p.choices.begin(), p.choices.end(), word) == p.choices.end())
      throw bad_input("--" + p.name,
                      fmt::format("\"{:.80}\" is none of {}", word, fmt::join(p.choices, ", ")),
                      base::did_you_mean(word, p.choices));
    if (std::find(all.begin(), all.end(), result::ParamValue(word)) == all.end()) all.emplace_back(word);
  }
  return all;
}

} // namespace

Axis parse_axis(const kernel::Kernel& kernel, const std::string& name, const std::string& text) {
  const Parameter& p = parameter(kernel, name);
  if (p.unit == Parameter::Unit::text) {
    if (as_utf8(text) != text)
      throw bad_input("--" + name, "contains bytes that are not UTF-8, which a results file cannot hold",
                      "name the file otherwise, or name a script that does: --" + name + " 'sh run.sh'");
    return {name, {text}};
  }
  if (p.unit == Parameter::Unit::choice) return {name, choices(p, text)};
  Axis axis{name, {}};
  for (const std::int64_t value : parse_range(text, "--" + name)) {
    if (value < p.least)
      throw bad_input("--" + name, fmt::format("{} is less than {}, the minimum of kernel {}", value, p.least,
                                               kernel.name()));
    if (p.most > 0 && value > p.most)
      throw bad_input("--" + name, fmt::format("{} is more than {}, the maximum of kernel {}", value, p.most,
                                               kernel.name()));
    axis.values.emplace_back(value);
  }
  return axis;
}

namespace {

__extension__ using Wide = __int128; // products of two 64-bit numbers

/// A side's value times the other side's divisor: fractions are compared by multiplying them out.
Wide value(const Term& term, const Term& other, const result::Params& point) {
  Wide v = term.name.empty() ? term.factor : std::get<std::int64_t>(point.at(term.name));
  if (!term.name.empty() && !term.divided) v *= term.factor;
  return other.divided ? v * other.factor : v;
}

Term parse_term(const kernel::Kernel& kernel, const std::string& text, const std::string& subject) {
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])))
    return {{}, parse_size(text, subject), false};
  const std::size_t at = text.find_first_of("/*");
  Term term{text.substr(0, at), 1, at != text.npos && text[at] == '/'};
  if (at != text.npos) term.factor = parse_size(text.substr(at + 1), subject);
  if (term.factor < 1) throw bad_input(subject, "the factor must be at least 1");
  std::vector<std::string> names;
  for (const auto& p : kernel.parameters()) {
    if (p.unit == kernel::Parameter::Unit::choice || p.unit == kernel::Parameter::Unit::text) continue;
    if (p.name == term.name) return term;
    names.push_back(p.name);
  }
  throw bad_input(subject,
                  fmt::format("\"{:.40}\" is not a numeric parameter of kernel {}", term.name, kernel.name()),
                  base::did_you_mean(term.name, names));
}

} // namespace

bool Condition::holds(const result::Params& point) const {
  const Wide a = value(left, right, point), b = value(right, left, point);
  if (op == "<=") return a <= b;
  if (op == "<") return a < b;
  if (op == ">=") return a >= b;
  if (op == ">") return a > b;
  return (op == "=") == (a == b);
}

Condition parse_condition(const kernel::Kernel& kernel, const std::string& text) {
  Condition condition;
  std::copy_if(text.begin(), text.end(), std::back_inserter(condition.text),
               [](unsigned char c) { return !std::isspace(c); });
  const std::string& all = condition.text;
  const std::string subject = "--where " + all.substr(0, 80);
  for (const char* op : {"<=", ">=", "!=", "<", ">", "="}) {
    const std::size_t at = all.find(op);
    if (at == all.npos) continue;
    condition.op = op;
    condition.left = parse_term(kernel, all.substr(0, at), subject);
    condition.right = parse_term(kernel, all.substr(at + condition.op.size()), subject);
    return condition;
  }
  throw bad_input(subject, "is not a condition", "write a condition such as stride<=size/2 or n>=1K");
}

namespace {

constexpr std::size_t max_shards = 1'000'000;

Shard shard_of_job(const host::Job& job) {
  if (!job.task || job.tasks == 0)
    throw bad_input("--shard auto", "no launcher states the task and the number of tasks",
                    "run it under srun, mpirun or in a job array, or name the part: --shard 1/4");
  return {*job.task + 1, job.tasks};
}

} // namespace

std::string Shard::text() const {
  return fmt::format("{}/{}", number, of);
}

Shard parse_shard(const std::string& text, const host::Job& job) {
  if (text.empty()) return {};
  if (text == "auto") return shard_of_job(job);
  const auto parts = base::split(text, '/');
  const auto number = base::parse<std::size_t>(parts[0]).value_or(0),
             of = parts.size() == 2 ? base::parse<std::size_t>(parts[1]).value_or(0) : 0;
  if (number < 1 || number > of || of > max_shards)
    throw bad_input("--shard " + text, fmt::format("is not K/N with K from 1 to N, N up to {}", max_shards),
                    "--shard 1/4, or --shard auto");
  return {number, of};
}

void keep_shard(std::vector<result::Params>& points, const Shard& shard) {
  std::size_t index = 0;
  std::erase_if(points, [&](const auto&) { return index++ % shard.of != shard.number - 1; });
}

void keep_shard(std::vector<Job>& jobs, const Shard& shard) {
  if (shard.whole()) return;
  std::map<std::pair<std::string, result::Params>, std::size_t> places;
  for (const Job& job : jobs)
    places.try_emplace({job.kernel, job.point}, 0);
  std::size_t index = 0;
  for (auto& [point, place] : places)
    place = index++;
  std::erase_if(jobs, [&](const Job& job) {
    return places.at({job.kernel, job.point}) % shard.of != shard.number - 1;
  });
}

void state_shard(result::Run& header, const Shard& shard) {
  if (!shard.whole()) header.plan[shard_setting] = shard.text();
}

std::string empty_shard_text(const std::string& command, const Shard& shard, std::size_t points) {
  return fmt::format("recount {}: shard {} is empty (points = {})\n", command, shard.text(), points);
}

namespace {

std::string text(const Axis& axis) {
  return fmt::format("{}", fmt::join(axis.values | views::transform(result::text), ","));
}

/// Long lists are shortened in the middle.
std::string brief(const std::string& text) {
  return text.size() <= 60 ? text : text.substr(0, 28) + "..." + text.substr(text.size() - 28);
}

} // namespace

std::map<std::string, std::string> settings(const Plan& plan) {
  std::map<std::string, std::string> all;
  all["kernel"] = plan.kernel;
  for (const auto& axis : plan.axes)
    all["--" + axis.name] = text(axis);
  for (std::size_t i = 0; i < plan.conditions.size(); ++i)
    all[i == 0 ? "where" : fmt::format("where {}", i + 1)] = plan.conditions[i].text;
  all["witness"] = fmt::format("{}", fmt::join(plan.witnesses, ","));
  if (!plan.metrics.empty()) all["metric"] = fmt::format("{}", fmt::join(plan.metrics, ","));
  all["repeat"] = std::to_string(plan.repeat);
  add_modes(all, plan.modes);
  return all;
}

std::string difference(const std::map<std::string, std::string>& in_file,
                       const std::map<std::string, std::string>& now) {
  for (const auto& [name, value] : in_file) {
    if (name == shard_setting) continue; // parts of one plan share a file
    const auto found = now.find(name);
    if (found == now.end())
      return fmt::format("{} was {} in the file and is not given now", name, brief(value));
    if (found->second != value && as_utf8(found->second) != value)
      return fmt::format("{} was {} in the file and is {} now", name, brief(value), brief(found->second));
  }
  for (const auto& [name, value] : now)
    if (!in_file.contains(name) && name != shard_setting)
      return fmt::format("{} is {} now and was not given in the file", name, brief(value));
  return {};
}

namespace {

constexpr const char* range_forms = "write FIRST:LAST:xFACTOR, FIRST:LAST:STEP or A,B,C; sizes take K, M, G: "
                                    "4K:4M:x2, 600:3000:400, 1,2,8";

class RangeParser {
public:
  RangeParser(std::string text, std::string subject) : text_(std::move(text)), subject_(std::move(subject)) {}

  [[noreturn]] void fail(const std::string& cause) const {
    throw bad_input(subject_, fmt::format("invalid range \"{:.80}\": {}", text_, cause), range_forms);
  }

  /// A number or a range. Of sizes, a step of 1 byte is no likely wish.
  void add_item(std::string_view item) {
    auto parts = base::split(item, ':');
    if (parts.size() == 1) return add_value(number(parts[0]));
    const auto plain = [](std::string_view text) { return base::parse<std::int64_t>(text).has_value(); };
    if (parts.size() == 2 && std::ranges::all_of(parts, plain)) parts.emplace_back("1");
    if (parts.size() != 3) fail(fmt::format("\"{:.40}\" has no step", item));
    const std::int64_t first = number(parts[0]), last = number(parts[1]);
    if (first > last) fail(fmt::format("{} is greater than {}", parts[0], parts[1]));
    if (parts[2].starts_with('x'))
      add_geometric(first, last, parts[2].substr(1));
    else
      add_arithmetic(first, last, number(parts[2]));
  }

  [[nodiscard]] std::vector<std::int64_t> values() && { return std::move(values_); }

private:
  void add_value(std::int64_t value) {
    if (!seen_.insert(value).second) return;
    if (values_.size() == max_values) fail(fmt::format("more than {} values", max_values));
    values_.push_back(value);
  }

  [[nodiscard]] std::int64_t number(std::string_view text) const {
    const auto value = base::parse_size(text);
    if (!value) fail(fmt::format("\"{:.40}\" is not a whole number below 2^63", text));
    return *value;
  }

  void add_arithmetic(std::int64_t first, std::int64_t last, std::int64_t step) {
    if (step < 1) fail("the step must be at least 1");
    for (std::int64_t value = first;;) {
      add_value(value);
      if (__builtin_add_overflow(value, step, &value) || value > last) return;
    }
  }

  void add_geometric(std::int64_t first, std::int64_t last, std::string_view text) {
    const double factor = base::parse<double>(text).value_or(0);
    if (!std::isfinite(factor) || factor <= 1)
      fail(fmt::format("the factor \"x{:.40}\" is not a number above 1", text));
    if (first < 1) fail("a range with a factor starts at 1 or more");
    // Powers of the factor instead of repeated rounding, so that x1.5 does not drift. With a factor close to
    // 1 several steps round to the same value; add_value() drops the duplicates.
    for (int step = 0;; ++step) {
      const double value = std::round(static_cast<double>(first) * std::pow(factor, step));
      if (value > static_cast<double>(last) || value >= 0x1p63) return;
      add_value(static_cast<std::int64_t>(value));
      if (step > 100'000'000) fail("the factor is too close to 1");
    }
  }

  std::string text_, subject_;
  std::vector<std::int64_t> values_;
  std::unordered_set<std::int64_t> seen_;
};

} // namespace

std::vector<std::int64_t> parse_range(const std::string& text, const std::string& subject) {
  RangeParser parser(text, subject);
  if (text.empty()) parser.fail("it is empty");
  for (const auto item : base::split(text, ','))
    parser.add_item(item);
  return std::move(parser).values();
}

std::int64_t parse_size(const std::string& text, const std::string& subject) {
  const auto value = base::parse_size(text);
  if (!value)
    throw bad_input(subject, fmt::format("\"{:.80}\" is not a whole number below 2^63", text),
                    "numbers may end in K, M or G (powers of 1024)");
  return *value;
}

namespace {

constexpr double longest_complete = 1; ///< seconds of a simulation that is not sampled by default

const std::vector<std::string> sample_words{"auto", "always", "never"};

bool wants_samples(const Job& job, const ModelModes& modes) {
  if (job.kernel != "matmul" || modes.sample == ModelModes::Sample::never) return false;
  return modes.sample == ModelModes::Sample::always || simulated_seconds(job) > longest_complete;
}

} // namespace

ModelModes parse_modes(const std::string& sample, long draws) {
  ModelModes modes;
  modes.draws = static_cast<int>(draws);
  if (sample.empty()) return modes;
  const auto word = std::ranges::find(sample_words, sample);
  if (word == sample_words.end())
    throw bad_input("--sample " + sample, "unknown word", base::did_you_mean_or_all(sample, sample_words));
  modes.sample = static_cast<ModelModes::Sample>(word - sample_words.begin());
  return modes;
}

std::vector<Job> modelled_jobs(const Job& job, const ModelModes& modes) {
  if (witness::find(job.witness).native) return {job};
  const std::string name = job.witness.machine();
  model::MachineDescription machine;
  try {
    machine = model::enough_for(model::machine(name), job.metrics);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    return {job}; // closed forms only
  }
  if (!machine.family.empty()) return {job};
  const bool drawn = modes.draws > 0 && model::depends_on_placement(machine) &&
                     kernel::find(job.kernel).unsimulated().empty();
  Job one = job;
  if (drawn && !machine.placement) one.witness = one.witness.with("placement=any");
  if (!machine.sampled && wants_samples(one, modes)) one.witness = one.witness.with("sample");
  std::vector<Job> all(drawn ? static_cast<std::size_t>(modes.draws) : 1, one);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].repetition = static_cast<int>(i);
  return all;
}

void add_modes(std::map<std::string, std::string>& settings, const ModelModes& modes) {
  if (modes.sample != ModelModes::Sample::automatic)
    settings["--sample"] = sample_words[static_cast<std::size_t>(modes.sample)];
  if (modes.draws > 0) settings["--draws"] = std::to_string(modes.draws);
}

namespace {

constexpr double start_of_a_process = 0.03; ///< seconds

/// Nanoseconds of an element or of an access: without and with TLBs, and with prefetchers, where every access
/// is simulated in full.
struct SimulationTime {
  double bare, walking, watched;
  [[nodiscard]] double on(const model::MachineDescription& machine) const {
    if (std::ranges::any_of(machine.levels, [](const auto& level) { return !level.prefetch.empty(); }))
      return watched;
    return machine.tlb ? walking : bare;
  }
};

struct VisitTime {
  std::string_view kernel;
  SimulationTime element; ///< visited once
};
/// Measured on a virtual machine of two cores with model:i7-9700~no-tlb and model:i7-9700, arrays of 32 to
/// 256 MiB. A random order takes longest: the order itself does not fit the caches of the machine that
/// simulates.
constexpr std::array visit_times{VisitTime{"stride", {25, 25, 25}}, VisitTime{"scatter", {23, 60, 60}},
                                 VisitTime{"chase", {110, 140, 140}}, VisitTime{"visit", {110, 140, 140}},
                                 VisitTime{"code", {25, 45, 45}}};

/// Passes that are simulated, twice, before the state of deterministic caches recurs: see model::repeat().
constexpr double passes_to_recur = 3;

double number_or(const result::Params& point, const std::string& name, double otherwise) {
  const auto number = result::integer(point, name);
  return number ? static_cast<double>(*number) : otherwise;
}

/// Of kernels that pass over their elements repeatedly: stride, chase, scatter, visit, code.
double passes_seconds(const Job& job, const model::MachineDescription& machine) {
  const auto& point = job.point;
  const double stride = number_or(point, "stride", 1), size = number_or(point, "size", 0);
  const double pairs = number_or(point, "pair", 0) > 0 ? 2 : 1;
  const double elements = size > 0 ? size / stride : number_or(point, "count", 0) * pairs;
  if (job.kernel == "sharing") return 1e-5; // its few accesses recur
  double passes = number_or(point, "rounds", 0) * stride + number_or(point, "passes", 0);
  if (std::ranges::none_of(machine.levels,
                           [](const auto& level) { return level.policy == model::Policy::random; }))
    passes = std::min(passes, passes_to_recur);
  const auto* const time = std::ranges::find(visit_times, job.kernel, &VisitTime::kernel);
  return time == visit_times.end() ? 0 : 2e-9 * elements * passes * time->element.on(machine);
}

/// Of an access of a loop nest, in both passes, along rows and in columns. Measured on a virtual machine of
/// two EPYC cores with AVX-512, model:i7-9700~no-tlb and model:i7-9700, products of n = 600 and 1000; with
/// prefetchers model:i7-9700-prefetch, n = 240.
constexpr SimulationTime row_access{1.4, 2.6, 75}, column_access{6.6, 19, 295};

/// The share of a nest that is simulated in samples: at most five windows each, a window being a turn of an
/// outer loop.
double sampled_share(double accesses) {
  constexpr double min_window = 2e5, max_window = 5e7, windows = 30;
  return std::min(1.0, windows * std::clamp(std::pow(accesses, 2.0 / 3), min_window, max_window) / accesses);
}

double nest_seconds(double accesses, double in_columns, const model::MachineDescription& machine) {
  return 1e-9 * (row_access.on(machine) * (accesses - in_columns) + column_access.on(machine) * in_columns) *
         (machine.sampled ? sampled_share(accesses) : 1);
}

double product_seconds(const Job& job, const model::MachineDescription& machine) {
  using Variant = kernel::MatmulPoint::Variant;
  const auto at = kernel::matmul_point(kernel::find(job.kernel), job.point);
  const bool columns = at.variant == Variant::ijk || at.variant == Variant::ijk_mem;
  return nest_seconds(static_cast<double>(at.accesses()),
                      columns ? std::pow(static_cast<double>(at.n), 3) : 0, machine);
}

double native_seconds(const Job& job) {
  if (job.kernel == program_kernel) return 0; // unknown
  const bool product = job.kernel == "matmul";
  if (!product && !kernel::find(job.kernel).unsimulated().empty()) return 0;
  try {
    const model::MachineDescription machine = model::machine(job.witness.machine());
    return product ? product_seconds(job, model::enough_for(machine, job.metrics))
                   : passes_seconds(job, machine);
  } catch (const Error& error) { // this machine states no caches: nothing is simulated
    if (error.kind() != ErrorKind::unavailable) throw;
    return 0;
  }
}

/// What simulates is simulated itself: measured with products of n = 120 to 256.
constexpr double slower_when_emulated = 150;

} // namespace

double simulated_seconds(const Job& job) {
  return native_seconds(job) * (host::this_emulation().exact ? slower_when_emulated : 1);
}

double model_seconds(const std::vector<Job>& jobs, int parallel) {
  double sum = 0, longest = 0; // a point is simulated by one process
  for (const auto& job : jobs) {
    if (witness::find(job.witness).native) continue;
    const double seconds = start_of_a_process + simulated_seconds(job);
    sum += seconds;
    longest = std::max(longest, seconds);
  }
  // One server counts what all processes of an emulation execute.
  return std::max(longest, sum / (host::this_emulation().exact ? 1 : std::max(1, parallel)));
}

} // namespace recount::sweep
