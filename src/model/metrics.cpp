#include "model/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace recount::model {
namespace {

using Metrics = std::map<std::string, std::int64_t>;

constexpr std::size_t preset_levels = 3; ///< caches that PAPI has presets for

std::int64_t accesses(const LevelCounts& c) {
  return c.accessed(Cause::load) + c.accessed(Cause::store);
}
std::int64_t misses(const LevelCounts& c) {
  return c.missed(Cause::load) + c.missed(Cause::store);
}

/// Lines that the page walker reads are among those that a level fetches, as on hardware; at the first level
/// its reads are no accesses of the program. Instructions stay in the first level: the kernels' loops are
/// short. How often they are fetched there depends on the processor.
void add_level(Metrics& into, const LevelCounts& c, std::size_t number) {
  if (number <= preset_levels) {
    const std::string preset = fmt::format("PAPI_L{}_", number);
    const std::int64_t fetched = misses(c) + c.missed(Cause::walk);
    const std::pair<const char*, std::int64_t> data[] = {{"DCA", accesses(c)},
                                                         {"DCH", accesses(c) - misses(c)},
                                                         {"DCM", fetched},
                                                         {"DCR", c.accessed(Cause::load)},
                                                         {"DCW", c.accessed(Cause::store)},
                                                         {"LDM", c.missed(Cause::load)},
                                                         {"STM", c.missed(Cause::store)},
                                                         {"TCM", fetched}};
    for (const auto& [name, value] : data)
      into[preset + name] = value;
    for (const char letter : {'A', 'H', 'R', 'W'})
      if (number > 1) into[preset + "TC" + letter] = into[preset + "DC" + letter];
  }
  const std::pair<const char*, std::int64_t> all[] = {{"DEMAND_ACCESSES", accesses(c)},
                                                      {"DEMAND_MISSES", misses(c)},
                                                      {"WALK_ACCESSES", c.accessed(Cause::walk)},
                                                      {"WALK_MISSES", c.missed(Cause::walk)},
                                                      {"PREFETCH_ACCESSES", c.accessed(Cause::prefetch)},
                                                      {"PREFETCH_MISSES", c.missed(Cause::prefetch)},
                                                      {"PREFETCHES", c.prefetches},
                                                      {"EVICTIONS", c.evictions},
                                                      {"WRITE_BACKS", c.write_backs},
                                                      {"INVALIDATIONS", c.invalidations}};
  for (const auto& [name, value] : all)
    into[fmt::format("MODEL_L{}_{}", number, name)] = value;
}

/// What only some levels have: private ones of several cores, those with prefetchers.
void add_special(Metrics& into, const Counts& counts, std::size_t at, const MachineDescription& machine) {
  constexpr std::array<const char*, prefetch_kinds> names{"NEXT_LINE", "ADJACENT_LINE", "STREAMER"};
  const LevelDescription& level = machine.levels[at];
  const LevelCounts& c = counts.levels[at];
  const std::string own = fmt::format("MODEL_L{}_", at + 1);
  if (machine.cores > 1 && !level.shared) {
    into[own + "COHERENCE_MISSES"] = c.coherence_misses;
    into[own + "COHERENCE_INVALIDATIONS"] = c.coherence_invalidations;
    into[own + "COHERENCE_WRITE_BACKS"] = c.coherence_write_backs;
  }
  for (const Prefetcher& by : level.prefetch) {
    const PrefetchCounts& done = counts.prefetch[at][number(by.kind)];
    const std::string name = own + names[number(by.kind)];
    into[name + "_FETCHES"] = done.fetches;
    into[name + "_USEFUL"] = done.useful;
    into[name + "_USELESS"] = done.useless;
  }
}

/// How often the processor fetches a line depends on how many bytes it fetches at a time; one fetch per line
/// and visit is counted. Requests by instructions are among all requests of a level.
void add_instructions(Metrics& into, const Counts& counts) {
  constexpr auto cause = Cause::fetch;
  const auto add = [&](std::size_t number, const LevelCounts& c) {
    const std::string preset = fmt::format("PAPI_L{}_", number);
    into[preset + "ICA"] = into[preset + "ICR"] = c.accessed(cause);
    into[preset + "ICH"] = c.hit(cause);
    into[preset + "ICM"] = c.missed(cause);
    into[preset + "TCM"] += c.missed(cause);
    if (number == 1) return;
    into[preset + "TCA"] += c.accessed(cause);
    into[preset + "TCR"] += c.accessed(cause);
    into[preset + "TCH"] += c.hit(cause);
  };
  add(1, counts.instructions);
  into["MODEL_L1I_EVICTIONS"] = counts.instructions.evictions;
  into["MODEL_L1I_INVALIDATIONS"] = counts.instructions.invalidations;
  for (std::size_t i = 1; i < counts.levels.size(); ++i) {
    into[fmt::format("MODEL_L{}_FETCH_ACCESSES", i + 1)] = counts.levels[i].accessed(cause);
    into[fmt::format("MODEL_L{}_FETCH_MISSES", i + 1)] = counts.levels[i].missed(cause);
    if (i < preset_levels) add(i + 1, counts.levels[i]);
  }
  for (std::size_t i = 0; i < counts.instruction_tlb.size(); ++i) {
    into[fmt::format("MODEL_ITLB{}_ACCESSES", i + 1)] = counts.instruction_tlb[i].accessed(cause);
    into[fmt::format("MODEL_ITLB{}_MISSES", i + 1)] = counts.instruction_tlb[i].missed(cause);
  }
  if (counts.instruction_tlb.empty()) return;
  into["PAPI_TLB_IM"] = counts.instruction_tlb.back().missed(cause);
  into["PAPI_TLB_TL"] = into["PAPI_TLB_DM"] + into["PAPI_TLB_IM"];
}

/// The machine's own definitions of presets, where it has every metric in the sum.
void redefine(Metrics& all, const MachineDescription& machine) {
  for (const auto& [preset, sum] : machine.presets) {
    if (!all.contains(preset)) continue;
    if (!std::ranges::all_of(sum, [&](const auto& term) { return all.contains(term.first); })) {
      all.erase(preset);
      continue;
    }
    std::int64_t value = 0;
    for (const auto& [metric, factor] : sum)
      value += factor * all.at(metric);
    all[preset] = value;
  }
}

/// Leaves out what is unknown of a family's members.
void keep_known(Metrics& all) {
  for (const char* name : {"MODEL_L1_EVICTIONS", "MODEL_L1_WRITE_BACKS"})
    all.erase(name);
}

/// Misses of the TLBs, and of the caches down to the level that the name of a metric contains, which a longer
/// warm-up might have made hits.
double unsettled(const std::string& metric, const Hierarchy& hierarchy) {
  const auto& all = hierarchy.sampling->unsettled;
  const std::size_t tlbs = all.size() - hierarchy.levels();
  std::size_t count = metric.ends_with("_INS") ? 0 : tlbs;
  for (std::size_t level = 1; level <= hierarchy.levels(); ++level)
    if (metric.find(fmt::format("_L{}_", level)) != std::string::npos) count = tlbs + level;
  return std::accumulate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
}

} // namespace

Metrics metrics(const Counts& counts, const MachineDescription& machine) {
  Metrics all{{"PAPI_LD_INS", counts.loads},
              {"PAPI_SR_INS", counts.stores},
              {"PAPI_LST_INS", counts.loads + counts.stores}};
  for (std::size_t i = 0; i < counts.levels.size(); ++i) {
    add_level(all, counts.levels[i], i + 1);
    add_special(all, counts, i, machine);
  }
  for (std::size_t i = 0; i < counts.tlb.size(); ++i) {
    all[fmt::format("MODEL_TLB{}_ACCESSES", i + 1)] = accesses(counts.tlb[i]);
    all[fmt::format("MODEL_TLB{}_MISSES", i + 1)] = misses(counts.tlb[i]);
  }
  if (!counts.tlb.empty()) all["PAPI_TLB_DM"] = misses(counts.tlb.back());
  if (counts.fetched) add_instructions(all, counts);
  redefine(all, machine);
  return all;
}

Metrics metrics(const Hierarchy& hierarchy) {
  return metrics(hierarchy.counts(), hierarchy.machine());
}

Metrics metrics(const Hierarchy& hierarchy, const FamilyMember& member) {
  Counts counts = hierarchy.counts();
  for (const Cause cause : {Cause::load, Cause::store})
    counts.levels.front().misses[number(cause)] = hierarchy.misses(member, cause);
  Metrics all = metrics(counts, hierarchy.machine());
  keep_known(all);
  return all;
}

std::map<std::string, double> sampling_errors(const Hierarchy& hierarchy) {
  std::map<std::string, double> errors;
  if (!hierarchy.sampling) return errors;
  std::map<std::string, std::vector<double>> values;
  for (const Counts& estimate : hierarchy.sampling->estimates)
    for (const auto& [name, value] : metrics(estimate, hierarchy.machine()))
      values[name].push_back(static_cast<double>(value));
  constexpr double n = Sampling::samples;
  for (const auto& [name, all] :
       values) { // without statistics/: the initialisers of Boost.Math would be counted
    const double mean = std::accumulate(all.begin(), all.end(), 0.0) / n;
    double squares = 0;
    for (const double value : all)
      squares += (value - mean) * (value - mean);
    errors[name] = Sampling::t * std::sqrt(squares / (n - 1) / n) + unsettled(name, hierarchy);
    if (!name.ends_with("_INS")) errors[name] += hierarchy.sampling->uneven * mean;
  }
  return errors;
}

std::vector<std::string> metric_names(const MachineDescription& machine, bool fetches) {
  Counts none;
  none.levels.resize(machine.levels.size());
  if (machine.tlb) none.tlb.resize(machine.tlb->levels.size());
  none.prefetch.resize(machine.levels.size());
  none.fetched = fetches && machine.instructions;
  if (none.fetched) none.instruction_tlb.resize(machine.instructions->tlb.size());
  Metrics all = metrics(none, machine);
  if (!machine.family.empty()) keep_known(all);
  std::vector<std::string> names;
  for (const auto& [name, value] : all)
    names.push_back(name);
  return names;
}

MachineDescription enough_for(MachineDescription machine, std::span<const std::string> metrics) {
  const auto reported = [&](const MachineDescription& by) {
    const auto names = metric_names(by, true);
    return std::ranges::count_if(metrics, [&](const auto& m) { return std::ranges::count(names, m) != 0; });
  };
  const auto all = reported(machine);
  while (machine.levels.size() > 1 && machine.levels.back().inclusion == Inclusion::non_inclusive) {
    const LevelDescription outermost = machine.levels.back();
    machine.levels.pop_back();
    if (reported(machine) == all) continue;
    machine.levels.push_back(outermost);
    break;
  }
  return machine;
}

} // namespace recount::model
