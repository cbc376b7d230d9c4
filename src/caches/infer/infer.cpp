#include "caches/infer/properties.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::caches {

std::string to_string(Confidence confidence) {
  switch (confidence) {
  case Confidence::low: return "low";
  case Confidence::medium: return "medium";
  case Confidence::high: return "high";
  case Confidence::none: break;
  }
  return "none";
}

std::string to_string(StatedMatch agreement) {
  switch (agreement) {
  case StatedMatch::agrees: return "agrees";
  case StatedMatch::near: return "near";
  case StatedMatch::differs: return "differs";
  case StatedMatch::not_found: return "not found";
  case StatedMatch::not_stated: break;
  }
  return "not stated";
}

std::string to_string(SharingSign sign) {
  switch (sign) {
  case SharingSign::hit_times_drift: return "hit times drift";
  case SharingSign::next_level_varies: return "next level varies";
  case SharingSign::later_look_differs: return "later look differs";
  }
  return {};
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

bool needs_more_readings(const Caches& found, Wanted wanted) {
  const auto undecided = [](const LevelFinding& level) {
    return !level.capacity.value || !level.line.value || !level.ways.value;
  };
  if (found.dead_counters) return false; // no more readings would change that
  if (found.levels.empty() || undecided(found.levels.front()) || found.levels.front().effective) return true;
  if (wanted == Wanted::first_level) return false;
  if (found.levels.size() < 2 || undecided(found.levels[1]) ||
      found.levels[1].capacity.confidence == Confidence::low)
    return true;
  if (wanted == Wanted::two_levels) return false;
  return found.tlbs.size() < 2 ||
         std::ranges::any_of(found.tlbs, [](const TlbFinding& tlb) { return !tlb.entries.value; });
}

Caches infer_caches(Sampler& sampler, const StageCallback& stage) {
  CachedSampler cached(sampler);
  const Abilities& can = sampler.abilities();
  Caches found;
  found.witness = can.witness;
  found.modelled = can.witness.starts_with("model");
  found.memory = unknown_property("latency", "ns", "the witness counts misses and measures no time");
  const StageCallback told = stage ? stage : [](const std::string&) {};
  if (can.contiguous && can.counted > 0)
    infer_by_counts(found, cached, told);
  else
    infer_by_time(found, cached, sampler, told);
  found.readings = cached.taken().size();
  for (const auto& [pattern, reading] : cached.taken()) {
    found.rounds += reading.rounds;
    found.disturbed += reading.disturbed;
  }
  return found;
}

} // namespace recount::caches
