#include "count/metric/metric.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/event/event_file.hpp"
#include "count/metric/shipped_data.hpp" // made from data/recount.metrics by the build

#include <recount/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace recount::metric {
namespace {

constexpr std::size_t longest_line = 4096, max_formulas = 32, max_metrics = 1000;
constexpr std::array<const char*, 5> fields{"unit", "formula", "range", "prose", "metric"};

/// Removes the first word of a text.
std::string_view first_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text = base::trim(text.substr(word.size()));
  return word;
}

bool good_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '-' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// Text for messages.
std::string shown(std::string_view text) {
  return base::printable(text.substr(0, 60));
}

class MetricReader {
public:
  explicit MetricReader(const std::string& file) : file_(file) {}

  void take(std::string_view line) {
    ++line_;
    if (line.size() > longest_line)
      fail("the line", "is longer than " + std::to_string(longest_line) + " bytes");
    if (line.find('\0') != line.npos) fail("the line", "contains a NUL byte: not a text file");
    std::string_view rest = base::trim(line);
    if (rest.empty() || rest.front() == '#') return;
    const std::string_view field = first_word(rest);
    if (field == "metric") return begin(rest);
    if (metrics_.empty()) fail(shown(field), "appears before the first metric NAME");
    if (field == "unit")
      set(metrics_.back().unit, "unit", rest);
    else if (field == "prose")
      prose(rest);
    else if (field == "formula")
      formula(rest);
    else if (field == "range")
      range(rest);
    else
      fail(shown(field), "is not a field of a metric",
           base::did_you_mean(shown(field), fields, "the fields are unit, formula, range and prose"));
  }
  Metrics finish() && {
    complete();
    return std::move(metrics_);
  }

private:
  [[noreturn]] void fail(const std::string& field, const std::string& cause,
                         const std::string& fix = {}) const {
    throw bad_input(file_ + ":" + std::to_string(line_), field + ": " + cause,
                    fix.empty() ? "man recount-metrics explains the format" : fix);
  }

  void begin(std::string_view name) {
    complete();
    if (!good_name(name))
      fail("metric", "\"" + shown(name) + "\" is not a valid name: use lower-case letters, digits and -");
    if (name == seconds) fail("metric", "the name seconds is reserved for the wall time");
    if (const Metric* const known = find(metrics_, name))
      fail("metric", shown(name) + " is already defined in line " + std::to_string(known->line));
    if (metrics_.size() == max_metrics) fail("metric", "there are more than " + std::to_string(max_metrics));
    Metric& metric = metrics_.emplace_back();
    metric.name = name;
    metric.file = file_;
    metric.line = line_;
  }
  /// Checks the mandatory fields of the metric.
  void complete() const {
    if (metrics_.empty()) return;
    const Metric& m = metrics_.back();
    for (const auto& [field, missing] :
         {std::pair{"unit", m.unit.empty()}, {"formula", m.formulas.empty()}, {"prose", m.prose.empty()}})
      if (missing)
        throw bad_input(file_ + ":" + std::to_string(m.line), "metric " + m.name + " has no " + field,
                        "man recount-metrics explains the format");
  }
  void set(std::string& into, const char* field, std::string_view text) {
    if (text.empty()) fail(field, "is empty");
    if (!into.empty()) fail(field, "is given twice");
    into = text;
  }
  void prose(std::string_view text) {
    if (text.empty()) fail("prose", "is empty");
    std::string& prose = metrics_.back().prose;
    prose += (prose.empty() ? "" : " ") + std::string(text); // may be continued in a line of its own
  }
  void formula(std::string_view text) {
    auto& formulas = metrics_.back().formulas;
    if (formulas.size() == max_formulas)
      fail("formula", "there are more than " + std::to_string(max_formulas));
    Formula formula_line{std::string(text), formula::parse_named(text), line_};
    if (!formula_line.named.fault.empty())
      fail("formula", formula_line.named.fault + " (column " +
                          std::to_string(formula_line.named.fault_at + 1) + " of \"" + shown(text) + "\")");
    if (formula_line.events().empty()) fail("formula", "contains no event and no preset");
    formulas.push_back(std::move(formula_line));
  }
  void range(std::string_view text) {
    Metric& metric = metrics_.back();
    if (metric.least) fail("range", "is given twice");
    metric.least = number(first_word(text));
    metric.most = number(first_word(text));
    if (!text.empty()) fail("range", "takes two numbers");
    if (*metric.least >= *metric.most) fail("range", "the first number is not less than the second");
  }
  double number(std::string_view word) const {
    const auto value = base::parse<double>(word);
    if (!value || !std::isfinite(*value))
      fail("range", "takes two numbers; \"" + shown(word) + "\" is not a number");
    return *value;
  }

  const std::string& file_;
  int line_ = 0;
  Metrics metrics_;
};

} // namespace

std::vector<std::string> Formula::events() const {
  std::vector<std::string> names;
  for (const formula::Quantity& q : named.quantities)
    if (!q.name.empty() && q.name != seconds) names.push_back(q.name);
  return names;
}

Metrics parse(std::string_view text, const std::string& file) {
  MetricReader reader(file);
  for (const std::string_view line : base::split(text, '\n'))
    reader.take(line);
  return std::move(reader).finish();
}

const Metric* find(const Metrics& metrics, std::string_view name) noexcept {
  const auto at = std::ranges::find(metrics, name, &Metric::name);
  return at == metrics.end() ? nullptr : &*at;
}

Value evaluate(const Metric& metric, const Formula& formula, std::span<const double> operands) {
  std::vector<double> all;
  std::size_t next = 0;
  for (const formula::Quantity& q : formula.named.quantities) {
    if (q.name.empty()) {
      all.push_back(q.number);
    } else {
      if (next == operands.size()) return {{}, "an operand is missing", false};
      all.push_back(operands[next++]);
    }
  }
  const formula::Real real = formula::evaluate_real(formula.named.rpn, all);
  Value out{real.value, real.why, false};
  if (out.value)
    out.outside = (metric.least && *out.value < *metric.least) || (metric.most && *out.value > *metric.most);
  return out;
}

namespace {

namespace files = std::filesystem;

void define(Metrics& all, Metrics more) {
  for (Metric& metric : more) {
    const auto known = std::ranges::find(all, metric.name, &Metric::name);
    if (known != all.end())
      *known = std::move(metric);
    else
      all.push_back(std::move(metric));
  }
}

void read(Metrics& all, const std::string& path) {
  std::error_code error;
  if (files::is_directory(path, error)) throw bad_input(path, "is a directory", "name a file of metrics");
  define(all, parse(base::require_file(path, "name a file of metrics"), path));
}

std::string configuration() {
  const char* const given = std::getenv("XDG_CONFIG_HOME");
  if (given != nullptr && *given != '\0') return given;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.config" : std::string();
}

void read_path(Metrics& all) {
  const char* const given = std::getenv("RECOUNT_METRICS");
  std::vector<std::string> places{"/etc/recount/metrics"};
  if (const auto own = configuration(); !own.empty()) places.push_back(own + "/recount/metrics");
  if (given != nullptr) {
    places.clear();
    for (const std::string_view place : base::split(std::string_view(given), ':'))
      if (!place.empty()) places.emplace_back(place);
  }
  std::error_code error;
  for (const std::string& place : places)
    if (given != nullptr || files::is_directory(place, error))
      for (const std::string& file : event::list_files(place, ".metrics"))
        read(all, file);
}

} // namespace

const Metrics& built_in() {
  static const Metrics all = parse(shipped_data, "recount.metrics");
  return all;
}

Metrics load(const std::vector<std::string>& named) {
  Metrics all = built_in();
  read_path(all);
  for (const std::string& file : named)
    read(all, file);
  return all;
}

} // namespace recount::metric
