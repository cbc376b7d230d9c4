#include "base/format.hpp"
#include "compare/compare.hpp"
#include "result/job_fields.hpp"
#include "statistics/node_scores.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace recount::compare {
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

} // namespace recount::compare
