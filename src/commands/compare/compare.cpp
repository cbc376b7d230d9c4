#include "commands/compare/compare.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "run/result/observation.hpp"
#include "show/plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

namespace recount::compare {
namespace {

using Nodes = std::map<std::string, std::size_t>; ///< by the id of a run that is compared
using result::Run;

struct AxisRow {
  const char* name;
  std::string Run::*member;
};
constexpr AxisRow axis_rows[] = {
    {"host", &Run::host}, {"cpu", &Run::cpu}, {"kernel", &Run::os}, {"governor", &Run::governor}};

/// Empty: the run does not state it.
std::string axis_value(const Run& run, const std::string& axis, const CompareOptions& options) {
  for (const AxisRow& row : axis_rows)
    if (axis == row.name) return run.*row.member;
  if (axis == "file") return base::value_at(options.files, run.id);
  const std::string value = base::value_at(run.versions, axis == "flags" ? "kernel_flags" : axis);
  return axis == "node" && value.empty() ? run.host : value;
}

/// The label of a run on the axes; empty: the run states none of them.
std::string node_label(const Run& run, const CompareOptions& options) {
  std::vector<std::string> values;
  for (const std::string& axis : options.by)
    if (std::string value = axis_value(run, axis, options); !value.empty())
      values.push_back(std::move(value));
  return fmt::format("{}", fmt::join(values, ", "));
}

/// By the id of each run; published tables have none.
std::map<std::string, std::string> node_labels(const result::Results& results,
                                               const CompareOptions& options) {
  std::map<std::string, std::string> labels;
  for (const Run& run : results.runs)
    if (!run.versions.contains("published")) labels[run.id] = node_label(run, options);
  return labels;
}

Nodes find_nodes(const result::Results& results, const CompareOptions& options, Comparison& into) {
  const auto labels = node_labels(results, options);
  std::set<std::string> names;
  for (const auto& [id, label] : labels)
    names.insert(label);
  if (names == std::set<std::string>{""})
    throw bad_input(
        "--by " + into.by, "no run states it",
        "--by node, host, file, cpu, job, task, or a member of \"versions\", see recount-results(5)");
  for (const std::string& name : names)
    into.nodes.push_back(name.empty() ? "(not stated)" : name);
  Nodes nodes;
  for (const auto& [id, label] : labels)
    nodes[id] = static_cast<std::size_t>(std::distance(names.begin(), names.find(label)));
  return nodes;
}

/// Collects the values of each quantity by node.
class Collector {
public:
  Collector(const result::Results& results, const Nodes& nodes, std::size_t count,
            const MachineProperties& inferred)
      : results_(results), nodes_(nodes), count_(count), inferred_(inferred) {}

  std::vector<Quantity> collect() {
    for (const result::Observation& o : results_.observations)
      if (nodes_.contains(o.run) && !plot::in_interval(o) && !plot::is_profile(o) && !result::is_reading(o))
        add(o);
    for (const Run& run : results_.runs)
      if (inferred_ && nodes_.contains(run.id) && result::is_inference(run)) add_inferred(run);
    std::vector<Quantity> quantities;
    for (auto& [key, quantity] : all_)
      quantities.push_back(std::move(quantity));
    return quantities;
  }

private:
  NodeQuantity& find(const Quantity& quantity, const std::string& run) {
    const auto [at, fresh] = all_.try_emplace(
        {quantity.kernel, quantity.witness, quantity.metric, quantity.unit, quantity.point}, quantity);
    if (fresh) at->second.nodes.resize(count_);
    NodeQuantity& on = at->second.nodes[nodes_.at(run)];
    on.listed = true;
    return on;
  }

  void add(const result::Observation& o) {
    NodeQuantity& on = find({o.kernel, o.witness, o.metric, o.unit, o.params}, o.run);
    if (const auto value = result::as_double(o.value))
      on.values.push_back(*value);
    else if (on.reason.empty())
      on.reason = o.reason;
    on.error = std::max(on.error, result::sampling_error(o).value_or(0));
  }

  /// One run infers a property once: the interval is that of the inference, not of repetitions.
  void add_inferred(const Run& run) {
    for (const MachineProperty& property : inferred_(results_, run)) {
      NodeQuantity& on = find({"caches", property.witness, property.name, property.unit}, run.id);
      if (!property.value) {
        on.reason = property.unknown;
        continue;
      }
      on.low = on.values.empty() ? property.low : std::min(on.low, property.low);
      on.high = on.values.empty() ? property.high : std::max(on.high, property.high);
      on.values.push_back(*property.value);
    }
  }

  const result::Results& results_;
  const Nodes& nodes_;
  std::size_t count_;
  const MachineProperties& inferred_;
  /// By kernel, witness, metric, unit and point.
  std::map<std::tuple<std::string, Witness, std::string, std::string, result::Params>, Quantity> all_;
};

// Statistics over the nodes.

void summarise(Quantity& quantity) {
  std::vector<double> medians;
  for (NodeQuantity& on : quantity.nodes) {
    if (on.values.empty()) continue;
    const auto summary = statistics::summarise(on.values);
    on.value = summary.value;
    if (on.low == on.high) { // else the interval of an inference
      on.low = summary.low;
      on.high = summary.high;
    }
    medians.push_back(on.value);
  }
  if (medians.empty()) return;
  quantity.median = statistics::median(medians);
  for (NodeQuantity& on : quantity.nodes)
    if (!on.values.empty() && quantity.median != 0) on.ratio = on.value / quantity.median;
}

/// For each kernel, witness and metric with several points: the ratios of a node at all of them.
std::vector<Quantity> over_points(const std::vector<Quantity>& each) {
  constexpr std::size_t min_points = 3;
  std::map<std::tuple<std::string, Witness, std::string>, std::vector<const Quantity*>> groups;
  for (const Quantity& quantity : each)
    if (quantity.median != 0 && quantity.count() == quantity.nodes.size())
      groups[{quantity.kernel, quantity.witness, quantity.metric}].push_back(&quantity);
  std::vector<Quantity> all;
  for (const auto& [key, points] : groups) {
    if (points.size() < min_points) continue;
    const auto& [kernel, witness, metric] = key;
    Quantity& whole =
        all.emplace_back(Quantity{kernel, witness, metric, "ratio to the median", {}, points.size(), {}});
    for (std::size_t node = 0; node < points.front()->nodes.size(); ++node) {
      whole.nodes.push_back({.listed = true});
      for (const Quantity* point : points)
        whole.nodes[node].values.push_back(*point->nodes[node].ratio);
    }
    summarise(whole);
  }
  return all;
}

void score(Quantity& quantity, std::size_t comparisons, double min_share) {
  std::vector<statistics::NodeValue> values;
  std::vector<NodeQuantity*> counted;
  for (NodeQuantity& on : quantity.nodes)
    if (!on.values.empty()) {
      values.push_back({on.value, on.low, on.high});
      counted.push_back(&on);
    }
  const auto scores = statistics::score_nodes(values, comparisons, min_share);
  if (scores.limit > 0) quantity.limit = scores.limit;
  for (std::size_t i = 0; i < counted.size(); ++i)
    counted[i]->z = scores.z[i];
  for (const std::size_t i : scores.outliers)
    counted[i]->outlier = true;
}

/// Leaves the parameters that differ between quantities of one kernel.
void shorten_points(std::vector<Quantity>& all) {
  std::map<std::pair<std::string, std::string>, std::set<result::ParamValue>> values;
  for (const Quantity& quantity : all)
    for (const auto& [name, value] : quantity.point)
      values[{quantity.kernel, name}].insert(value);
  for (Quantity& quantity : all)
    std::erase_if(quantity.point, [&](const auto& one) {
      return values[{quantity.kernel, one.first}].size() < 2;
    });
}

/// Whether three quarters of the nodes have a value, and this one has none.
bool lacks_value(const Quantity& quantity, const NodeQuantity& on) {
  const auto listed =
      static_cast<std::size_t>(std::ranges::count(quantity.nodes, true, &NodeQuantity::listed));
  return on.listed && on.values.empty() && listed >= statistics::min_nodes &&
         4 * quantity.count() >= 3 * listed;
}

std::string outlier_text(const Quantity& quantity, const NodeQuantity& on) {
  if (on.values.empty())
    return fmt::format("{}, but on {} of {} nodes: {}",
                       quantity.kernel == "caches" ? "unknown" : "not counted", quantity.count(),
                       quantity.nodes.size(), on.reason->text());
  const std::string point = point_name(quantity), prefix = point.empty() ? "" : point + ": ";
  const std::string median = fmt::format("the median of {} nodes", quantity.count());
  if (on.value == 0) return fmt::format("{}counts 0, {} is {:g}", prefix, median, quantity.median);
  if (!on.ratio) return fmt::format("{}{:g}, {} is 0", prefix, on.value, median);
  return fmt::format("{}{:.3g} times {}", prefix, *on.ratio, median);
}

/// One finding per node, kernel, witness and metric: the quantity that comes first, and how many more agree.
void find_outliers(Comparison& c) {
  for (std::size_t node = 0; node < c.nodes.size(); ++node) {
    std::vector<std::pair<Finding, std::size_t>> found;
    for (const Quantity& quantity : c.quantities) {
      const NodeQuantity& on = quantity.nodes[node];
      if (!on.outlier && !lacks_value(quantity, on)) continue;
      const std::string subject = subject_name(quantity);
      const auto same = std::ranges::find(found, subject, [](const auto& one) { return one.first.subject; });
      if (same != found.end())
        ++same->second;
      else
        found.push_back({{node, subject, outlier_text(quantity, on)}, 0});
    }
    for (auto& [finding, more] : found) {
      if (more > 0) finding.text += "; and at " + base::format_count(more, "more point");
      c.findings.push_back(std::move(finding));
    }
  }
}

/// Nodes most of whose repetitions were disturbed, while few of the others' were.
void find_disturbed(const result::Results& results, const Nodes& nodes, Comparison& c) {
  if (c.nodes.size() < statistics::min_nodes) return;
  std::vector<double> all(c.nodes.size()), shares(c.nodes.size());
  for (const result::Observation& o : results.observations)
    if (const auto node = nodes.find(o.run); node != nodes.end() && is_seconds(o.metric)) {
      ++all[node->second];
      shares[node->second] += result::disturbances(o).empty() ? 0 : 1;
    }
  for (std::size_t i = 0; i < all.size(); ++i)
    shares[i] /= std::max(1.0, all[i]);
  const double typical = statistics::median(shares);
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0.5 && typical < 0.1)
      c.findings.push_back({i, "disturbed",
                            fmt::format("{:.0f} % of the repetitions; on the median node {:.0f} %",
                                        100 * shares[i], 100 * typical)});
}

// Facts about the machines.

/// By name; absent where the run does not state them.
std::map<std::string, std::string> describe_run(const Run& run) {
  std::vector<std::string> caches;
  for (const auto& cache : run.caches)
    caches.push_back(cache.level + " " + base::format_bytes(cache.size));
  std::map<std::string, std::string> facts{{"CPU", run.cpu},
                                           {"CPUs", run.cpus > 0 ? std::to_string(run.cpus) : ""},
                                           {"caches", fmt::format("{}", fmt::join(caches, ", "))},
                                           {"governor", run.governor},
                                           {"kernel", run.os},
                                           {"hypervisor", run.virtualised}};
  for (const auto& [name, version] : run.versions)
    if (!result::is_job_field(name)) facts[name] = version;
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

/// The facts of the runs of each node; "(none)" where a node does not state one.
std::map<std::string, std::vector<std::string>> facts_by_node(const result::Results& results,
                                                              const Nodes& nodes, std::size_t count) {
  std::map<std::string, std::vector<std::set<std::string>>> values;
  for (const Run& run : results.runs)
    if (const auto node = nodes.find(run.id); node != nodes.end())
      for (const auto& [name, value] : describe_run(run)) {
        auto& of_nodes = values[name];
        of_nodes.resize(count);
        of_nodes[node->second].insert(value);
      }
  std::map<std::string, std::vector<std::string>> facts;
  for (const auto& [name, of_nodes] : values)
    for (const auto& texts : of_nodes)
      facts[name].push_back(texts.empty() ? "(none)" : fmt::format("{}", fmt::join(texts, "; ")));
  return facts;
}

/// A node with another value than three quarters of the nodes is an outlier: of 5, two that differ are not.
void find_differences(Comparison& c, const std::string& fact, const std::vector<std::string>& values) {
  if (std::ranges::count(values, values.front()) == std::ssize(values)) return;
  c.differences.push_back({fact, values});
  const auto usual = std::ranges::find_if(values, [&](const std::string& value) {
    return 4 * static_cast<std::size_t>(std::ranges::count(values, value)) >= 3 * values.size();
  });
  if (usual == values.end() || values.size() < statistics::min_nodes) return;
  for (std::size_t node = 0; node < values.size(); ++node)
    if (values[node] != *usual) c.findings.push_back({node, fact, values[node] + ", unlike the majority"});
}

/// Modelled values are exact but for their sampling error: a difference beyond it needs no repetition.
void find_pairs(Comparison& c) {
  if (c.nodes.size() >= statistics::min_nodes) return;
  for (std::size_t at = 0; at < c.quantities.size(); ++at) {
    const Quantity& quantity = c.quantities[at];
    for (std::size_t first = 0; first < c.nodes.size() && quantity.points == 1; ++first)
      for (std::size_t second = first + 1; second < c.nodes.size(); ++second) {
        const NodeQuantity &a = quantity.nodes[first], &b = quantity.nodes[second];
        if (a.values.empty() || b.values.empty()) continue;
        const bool zero = (a.value == 0) != (b.value == 0);
        if (!zero && (a.low <= 0 || b.value <= 0)) continue;
        const bool exact = quantity.witness.modelled() && std::abs(a.value - b.value) > a.error + b.error;
        const auto evidence = exact ? statistics::Evidence::clear : statistics::evidence(a.values, b.values);
        if (zero)
          c.pairs.push_back({at, first, second, 0, 0, 0, evidence, true});
        else
          c.pairs.push_back({at, first, second, b.value / a.value, b.low / a.high, b.high / a.low, evidence});
      }
  }
  std::ranges::stable_sort(c.pairs, std::greater{}, [](const Pair& pair) {
    return pair.zero ? std::numeric_limits<double>::infinity() : std::abs(std::log(pair.ratio));
  });
}

} // namespace

std::size_t Quantity::count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes, [](const NodeQuantity& on) { return !on.values.empty(); }));
}

bool Quantity::has_outlier() const {
  return std::ranges::any_of(nodes, &NodeQuantity::outlier);
}

std::string point_name(const Quantity& quantity) {
  if (quantity.points > 1) return fmt::format("median of {} points", quantity.points);
  return result::describe(quantity.point);
}

std::string subject_name(const Quantity& quantity) {
  return fmt::format("{} {} ({})", quantity.witness, quantity.metric, quantity.kernel);
}

Comparison compare(const result::Results& results, const CompareOptions& options) {
  Comparison c;
  c.by = fmt::format("{}", fmt::join(options.by, ","));
  const Nodes nodes = find_nodes(results, options, c);
  std::vector<Quantity> each = Collector(results, nodes, c.nodes.size(), options.inferred).collect();
  std::erase_if(each, [&](const Quantity& quantity) {
    const auto listed = std::ranges::count(quantity.nodes, true, &NodeQuantity::listed);
    c.on_one_node += listed < 2 ? 1U : 0U;
    return listed < 2 || quantity.count() == 0;
  });
  std::ranges::for_each(each, summarise);
  shorten_points(each);
  c.quantities = over_points(each);
  std::ranges::move(each, std::back_inserter(c.quantities));
  for (Quantity& quantity : c.quantities)
    score(quantity, c.quantities.size(), options.min_share);
  find_outliers(c);
  find_pairs(c);
  find_disturbed(results, nodes, c);
  for (const auto& [fact, values] : facts_by_node(results, nodes, c.nodes.size()))
    find_differences(c, fact, values);
  std::ranges::stable_sort(c.findings, {}, &Finding::node);
  return c;
}

bool several_nodes(const result::Results& results) {
  std::set<std::string> names;
  for (const auto& [id, label] : node_labels(results, {}))
    names.insert(label);
  return names.size() > 1;
}

} // namespace recount::compare
