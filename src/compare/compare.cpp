#include "compare/compare.hpp"

#include "base/format.hpp"
#include "caches/infer/inference.hpp"
#include "caches/infer/record_sampler.hpp"
#include "plot/select.hpp"
#include "result/observation.hpp"
#include "statistics/node_scores.hpp"
#include "statistics/statistics.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

// The caches that recount caches infers from the readings of each node, as quantities to compare.
namespace recount::compare {

/// Capacity, line, ways and latency of each level, entries of TLBs, and the latency of memory, inferred again
/// from the record of each run of recount caches; `count` nodes, `nodes` by run. low and high are the
/// interval that the inference states. Throws recount::Error (bad_input) for a record that does not read.
[[nodiscard]] std::vector<Quantity> inferred_quantities(const result::Results& results,
                                                        const std::map<std::string, std::size_t>& nodes,
                                                        std::size_t count);

namespace {

using Key = std::tuple<std::string, Witness, std::string, result::Params>; // kernel, witness, metric, point
using Quantities = std::map<Key, Quantity>;

/// Fewer points than these have no quantity of their own over all of them.
constexpr std::size_t least_points = 3;

/// The node of each run that is compared.
std::map<std::string, std::size_t> nodes_of(const result::Results& results, const CompareOptions& options,
                                            Comparison& into) {
  std::map<std::string, std::string> labels;
  std::set<std::string> names;
  bool any = false;
  for (const result::Run& run : results.runs) {
    if (run.versions.contains("published")) continue;
    std::string label = label_of(run, options);
    any = any || !label.empty();
    if (label.empty()) label = "(not stated)";
    names.insert(label);
    labels[run.id] = std::move(label);
  }
  if (!any && !labels.empty())
    throw bad_input(
        "--by " + options.by, "no run states it",
        "--by node, host, file, cpu, job, task, or a member of \"versions\", see recount-results(5)");
  into.nodes.assign(names.begin(), names.end());
  std::map<std::string, std::size_t> nodes;
  for (const auto& [id, label] : labels)
    nodes[id] = static_cast<std::size_t>(std::distance(names.begin(), names.find(label)));
  return nodes;
}

Quantities gather(const result::Results& results, const std::map<std::string, std::size_t>& nodes,
                  std::size_t count) {
  Quantities all;
  for (const result::Observation& o : results.observations) {
    const auto node = nodes.find(o.run);
    if (node == nodes.end() || plot::is_interval(o) || plot::is_profile(o) || result::is_reading(o)) continue;
    Quantity& quantity = all[{o.kernel, o.witness, o.metric, o.params}];
    if (quantity.nodes.empty()) {
      quantity = {o.kernel, o.witness, o.metric, o.unit, o.params, 1, std::vector<OnNode>(count), 0, {}};
    }
    OnNode& on = quantity.nodes[node->second];
    on.measured = true;
    if (const auto value = result::as_double(o.value))
      on.values.push_back(*value);
    else if (on.reason.empty())
      on.reason = o.reason.get().text();
  }
  return all;
}

void summarise(Quantity& quantity) {
  std::vector<double> medians;
  for (OnNode& on : quantity.nodes) {
    if (on.values.empty()) continue;
    const auto summary = statistics::summarise(on.values);
    on.value = summary.value;
    if (on.low == on.high) { // no interval is stated
      on.low = summary.low;
      on.high = summary.high;
    }
    medians.push_back(on.value);
  }
  if (medians.empty()) return;
  quantity.median = statistics::median(medians);
  for (OnNode& on : quantity.nodes)
    if (!on.values.empty() && quantity.median != 0) on.ratio = on.value / quantity.median;
}

/// For each kernel, witness and metric with several points: the ratios of a node at all of them.
std::vector<Quantity> over_points(const std::vector<Quantity>& each) {
  std::map<std::tuple<std::string, Witness, std::string>, std::vector<const Quantity*>> groups;
  for (const Quantity& quantity : each)
    if (quantity.median != 0 && quantity.count() == quantity.nodes.size())
      groups[{quantity.kernel, quantity.witness, quantity.metric}].push_back(&quantity);
  std::vector<Quantity> all;
  for (const auto& [key, points] : groups) {
    if (points.size() < least_points) continue;
    Quantity whole = *points.front();
    whole.point.clear();
    whole.unit = "ratio to the median";
    whole.points = points.size();
    for (std::size_t node = 0; node < whole.nodes.size(); ++node) {
      whole.nodes[node] = {.measured = true};
      for (const Quantity* point : points)
        whole.nodes[node].values.push_back(*point->nodes[node].ratio);
    }
    summarise(whole);
    all.push_back(std::move(whole));
  }
  return all;
}

void judge(Quantity& quantity, std::size_t comparisons, double least_share) {
  std::vector<statistics::NodeValue> values;
  std::vector<OnNode*> with;
  for (OnNode& on : quantity.nodes)
    if (!on.values.empty()) {
      values.push_back({on.value, on.low, on.high});
      with.push_back(&on);
    }
  const auto scores = statistics::score_nodes(values, comparisons, least_share);
  if (scores.limit > 0) quantity.limit = scores.limit;
  for (std::size_t i = 0; i < with.size(); ++i)
    with[i]->z = scores.z[i];
  for (const std::size_t i : scores.outliers)
    with[i]->outlier = true;
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

std::string ratio_text(const Quantity& quantity, const OnNode& on) {
  if (on.value == 0)
    return fmt::format("counts 0, the median of {} nodes is {:g}", quantity.count(), quantity.median);
  if (!on.ratio) return fmt::format("{:g}, the median of {} nodes is 0", on.value, quantity.count());
  return fmt::format("{:.3g} times the median of {} nodes", *on.ratio, quantity.count());
}

/// One finding per node, kernel, witness and metric: the quantity that comes first, and how many more agree.
void find_outliers(Comparison& c) {
  for (std::size_t node = 0; node < c.nodes.size(); ++node) {
    std::map<std::string, std::pair<Finding, std::size_t>> found;
    std::vector<std::string> order;
    for (const Quantity& quantity : c.quantities) {
      const OnNode& on = quantity.nodes[node];
      const auto measured =
          static_cast<std::size_t>(std::ranges::count(quantity.nodes, true, &OnNode::measured));
      const bool lacking = on.measured && on.values.empty() && measured >= statistics::least_nodes &&
                           4 * quantity.count() >= 3 * measured;
      if (!on.outlier && !lacking) continue;
      const std::string subject = subject_of(quantity), place = place_of(quantity);
      if (found.contains(subject)) {
        ++found[subject].second;
        continue;
      }
      order.push_back(subject);
      const std::string text =
          lacking ? fmt::format("{}, but on {} of {} nodes: {}",
                                quantity.kernel == "caches" ? "unknown" : "not counted", quantity.count(),
                                quantity.nodes.size(), on.reason)
                  : fmt::format("{}{}{}", place, place.empty() ? "" : ": ", ratio_text(quantity, on));
      found[subject] = {Finding{node, subject, text}, 0};
    }
    for (const std::string& subject : order) {
      auto& [finding, more] = found[subject];
      if (more > 0) finding.text += "; and at " + base::format_count(more, "more point");
      c.findings.push_back(std::move(finding));
    }
  }
}

/// Nodes most of whose repetitions were disturbed, while few of the others' were.
void find_disturbed(const result::Results& results, const std::map<std::string, std::size_t>& nodes,
                    Comparison& c) {
  if (c.nodes.size() < statistics::least_nodes) return;
  std::vector<double> all(c.nodes.size()), disturbed(c.nodes.size());
  for (const result::Observation& o : results.observations)
    if (const auto node = nodes.find(o.run); node != nodes.end() && o.metric == "seconds") {
      ++all[node->second];
      if (!result::disturbances(o).empty()) ++disturbed[node->second];
    }
  std::vector<double> shares;
  for (std::size_t i = 0; i < all.size(); ++i)
    shares.push_back(all[i] > 0 ? disturbed[i] / all[i] : 0);
  const double typical = statistics::median(shares);
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0.5 && typical < 0.1)
      c.findings.push_back({i, "disturbed",
                            fmt::format("{:.0f} % of the repetitions; on the median node {:.0f} %",
                                        100 * shares[i], 100 * typical)});
}

} // namespace

std::size_t Quantity::count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes, [](const OnNode& on) { return !on.values.empty(); }));
}

std::string place_of(const Quantity& quantity) {
  if (quantity.points > 1) return fmt::format("median of {} points", quantity.points);
  return result::describe(quantity.point);
}

std::string subject_of(const Quantity& quantity) {
  return fmt::format("{} {} ({})", quantity.witness, quantity.metric, quantity.kernel);
}

std::string title_of(const Quantity& quantity) {
  const std::string place = place_of(quantity);
  return subject_of(quantity) + (place.empty() ? "" : ", " + place);
}

Comparison compare(const result::Results& results, const CompareOptions& options) {
  Comparison c;
  c.by = options.by;
  const auto nodes = nodes_of(results, options, c);
  std::vector<Quantity> each, every = inferred_quantities(results, nodes, c.nodes.size());
  for (auto& [key, quantity] : gather(results, nodes, c.nodes.size()))
    every.push_back(std::move(quantity));
  for (Quantity& quantity : every) {
    const auto measured = std::ranges::count(quantity.nodes, true, &OnNode::measured);
    if (measured < 2) ++c.apart;
    if (measured < 2 || quantity.count() == 0) continue;
    summarise(quantity);
    each.push_back(std::move(quantity));
  }
  shorten_points(each);
  c.quantities = over_points(each);
  std::ranges::move(each, std::back_inserter(c.quantities));
  for (Quantity& quantity : c.quantities)
    judge(quantity, c.quantities.size(), options.least_share);
  find_outliers(c);
  find_disturbed(results, nodes, c);
  std::vector<std::vector<const result::Run*>> runs(c.nodes.size());
  for (const result::Run& run : results.runs)
    if (const auto node = nodes.find(run.id); node != nodes.end()) runs[node->second].push_back(&run);
  c.differences = differences_of(runs);
  for (const Difference& difference : c.differences)
    for (const std::size_t node : difference.odd)
      c.findings.push_back({node, difference.name, difference.values[node] + ", unlike the majority"});
  std::ranges::stable_sort(c.findings, {}, &Finding::node);
  return c;
}

namespace {

std::string caches_text(const result::Run& run) {
  std::string text;
  for (const auto& cache : run.caches)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cache.level, base::format_bytes(cache.size));
  return text;
}

/// The facts of a run by name; absent where the run does not state them.
std::map<std::string, std::string> facts_of(const result::Run& run) {
  std::map<std::string, std::string> facts{{"CPU", run.cpu},
                                           {"CPUs", run.cpus > 0 ? std::to_string(run.cpus) : ""},
                                           {"caches", caches_text(run)},
                                           {"governor", run.governor},
                                           {"kernel", run.os},
                                           {"hypervisor", run.virtualised}};
  for (const auto& [name, version] : run.versions)
    if (!result::is_job_field(name)) facts[name] = version;
  for (const auto& [name, mark] : run.verdicts)
    facts["verdict of " + name] = mark;
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

/// Those that have another value than three quarters of the nodes: of 5, two that differ are no exception.
std::vector<std::size_t> odd_ones(const std::vector<std::string>& values) {
  std::vector<std::size_t> odd;
  if (values.size() < statistics::least_nodes) return odd;
  const auto usual = std::ranges::find_if(values, [&](const std::string& value) {
    return 4 * static_cast<std::size_t>(std::ranges::count(values, value)) >= 3 * values.size();
  });
  if (usual == values.end()) return odd;
  for (std::size_t node = 0; node < values.size(); ++node)
    if (values[node] != *usual) odd.push_back(node);
  return odd;
}

} // namespace

std::string label_of(const result::Run& run, const CompareOptions& options) {
  const auto version = [&](const std::string& name) {
    const auto found = run.versions.find(name);
    return found == run.versions.end() ? std::string() : found->second;
  };
  const std::string& by = options.by;
  if (const auto comma = by.find(','); comma != by.npos) {
    CompareOptions first = options, rest = options;
    first.by = by.substr(0, comma);
    rest.by = by.substr(comma + 1);
    const std::string one = label_of(run, first), others = label_of(run, rest);
    return one.empty() || others.empty() ? one + others : one + ", " + others;
  }
  if (by == "node") {
    const std::string node = version("node");
    return node.empty() ? run.host : node;
  }
  if (by == "file") {
    const auto file = options.files.find(run.id);
    return file == options.files.end() ? std::string() : file->second;
  }
  if (by == "host") return run.host;
  if (by == "cpu") return run.cpu;
  if (by == "kernel") return run.os;
  if (by == "governor") return run.governor;
  if (by == "flags") return version("kernel_flags");
  return version(by);
}

bool several_nodes(const result::Results& results) {
  std::set<std::string> labels;
  for (const result::Run& run : results.runs)
    if (!run.versions.contains("published")) labels.insert(label_of(run, {}));
  return labels.size() > 1;
}

std::vector<Difference> differences_of(const std::vector<std::vector<const result::Run*>>& runs) {
  std::map<std::string, std::vector<std::set<std::string>>> all;
  for (std::size_t node = 0; node < runs.size(); ++node)
    for (const result::Run* run : runs[node])
      for (const auto& [name, value] : facts_of(*run)) {
        auto& values = all[name];
        values.resize(runs.size());
        values[node].insert(value);
      }
  std::vector<Difference> different;
  for (const auto& [name, sets] : all) {
    Difference one{name, {}, {}};
    for (const auto& values : sets) {
      std::string text;
      for (const std::string& value : values)
        text += (text.empty() ? "" : "; ") + value;
      one.values.push_back(text.empty() ? "(none)" : text);
    }
    if (std::ranges::count(one.values, one.values.front()) == static_cast<std::ptrdiff_t>(one.values.size()))
      continue;
    one.odd = odd_ones(one.values);
    different.push_back(std::move(one));
  }
  return different;
}

// The caches that recount caches infers from the readings of each node, as quantities to compare.
namespace {

/// One run infers a property once: its interval is that of the inference, not of repetitions.
void add_property(std::map<std::string, Quantity>& all, const std::string& level, const Witness& witness,
                  const caches::Property& property, std::size_t node, std::size_t nodes) {
  if (!property.value && property.unknown.empty()) return;
  const std::string metric = level + ' ' + property.name;
  Quantity& quantity = all.try_emplace(witness.name() + ' ' + metric).first->second;
  if (quantity.nodes.empty())
    quantity = {"caches", witness, metric, property.unit, {}, 1, std::vector<OnNode>(nodes), 0, {}};
  OnNode& on = quantity.nodes[node];
  on.measured = true;
  if (!property.value) {
    on.reason = property.unknown;
    return;
  }
  const double low = *property.value * (1 - property.tolerance),
               high = *property.value * (1 + property.tolerance);
  on.low = on.values.empty() ? low : std::min(on.low, low);
  on.high = on.values.empty() ? high : std::max(on.high, high);
  on.values.push_back(*property.value);
}

} // namespace

std::vector<Quantity> inferred_quantities(const result::Results& results,
                                          const std::map<std::string, std::size_t>& nodes,
                                          std::size_t count) {
  std::map<std::string, Quantity> all;
  for (const result::Run& run : results.runs) {
    const auto node = nodes.find(run.id);
    if (node == nodes.end() || !result::is_inference(run)) continue;
    caches::RecordSampler sampler(results, run);
    const caches::Caches found = caches::infer_caches(sampler);
    const auto add = [&](const std::string& level, caches::Property property, bool shared = false) {
      if (shared && property.unit != "ns") {
        property.value.reset();
        property.unknown = "others used a part of the level during the measurement";
      }
      add_property(all, level, found.witness, property, node->second, count);
    };
    for (const auto& level : found.levels)
      for (const auto* property : {&level.capacity, &level.line, &level.ways, &level.latency})
        add(level.name, *property, !level.shared_use.empty() && property != &level.line);
    for (const auto& tlb : found.tlbs)
      add(tlb.name, tlb.entries);
    add("memory", found.memory);
  }
  std::vector<Quantity> quantities;
  for (auto& [key, quantity] : all)
    quantities.push_back(std::move(quantity));
  return quantities;
}

} // namespace recount::compare
