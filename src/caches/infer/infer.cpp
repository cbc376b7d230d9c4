#include "caches/infer/properties.hpp"
#include "caches/infer/steps.hpp"

#include <fmt/format.h>

namespace recount::analysis {

std::string to_string(Confidence confidence) {
  switch (confidence) {
  case Confidence::low: return "low";
  case Confidence::medium: return "medium";
  case Confidence::high: return "high";
  case Confidence::none: break;
  }
  return "none";
}

std::string to_string(Standing agreement) {
  switch (agreement) {
  case Standing::agrees: return "agrees";
  case Standing::differs: return "differs";
  case Standing::not_found: return "not found";
  case Standing::not_stated: break;
  }
  return "not stated";
}

std::string level_name(std::size_t level) {
  return level == 0 ? "L1d" : fmt::format("L{}", level + 1);
}

LevelFinding unknown_level(const std::string& name, const std::string& reason) {
  LevelFinding finding;
  finding.name = name;
  finding.geometry.unknown = finding.geometry.line_unknown = reason;
  finding.capacity = unknown_property("capacity", "bytes", reason);
  finding.line = unknown_property("line", "bytes", reason);
  finding.ways = unknown_property("ways", "lines", reason);
  finding.latency = unknown_property("latency", "ns", reason);
  finding.penalty = unknown_property("penalty", "ns", reason);
  return finding;
}

bool worth_another_look(const Caches& found) {
  if (found.levels.empty()) return true;
  const LevelFinding& first = found.levels.front();
  return !first.capacity.value || !first.line.value || !first.ways.value;
}

Caches infer_caches(Sampler& sampler, const Stage& stage) {
  Notebook notebook(sampler);
  const Abilities& can = sampler.abilities();
  Caches found;
  found.witness = can.witness;
  found.modelled = can.witness.starts_with("model");
  found.memory = unknown_property("latency", "ns", "the witness counts misses and measures no time");
  const Stage told = stage ? stage : [](const std::string&) {};
  if (can.contiguous && can.counted > 0)
    infer_by_counts(found, notebook, told);
  else
    infer_by_time(found, notebook, sampler, told);
  found.readings = notebook.taken().size();
  return found;
}

} // namespace recount::analysis
