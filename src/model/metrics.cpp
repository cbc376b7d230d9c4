#include "model/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace recount::model {

namespace {

using Metrics = std::map<std::string, std::int64_t>;

/// What the page walker reads belongs to the lines a level brings in, as on hardware; at the first level its
/// reads are no accesses of the program.
void add_level(Metrics& into, const LevelCounts& c, std::size_t number) {
  const std::int64_t demand = c.accessed(Cause::load) + c.accessed(Cause::store);
  const std::int64_t demand_misses = c.missed(Cause::load) + c.missed(Cause::store);
  const std::string level = "L" + std::to_string(number);
  if (number <= 3) {
    const std::string preset = "PAPI_" + level + "_";
    into[preset + "DCA"] = demand;
    into[preset + "DCH"] = demand - demand_misses;
    into[preset + "DCM"] = demand_misses + c.missed(Cause::walk);
    into[preset + "DCR"] = c.accessed(Cause::load);
    into[preset + "DCW"] = c.accessed(Cause::store);
    into[preset + "LDM"] = c.missed(Cause::load);
    into[preset + "STM"] = c.missed(Cause::store);
    // Instructions stay in the first level: the kernels' loops are short. How often they are fetched there
    // depends on the processor.
    into[preset + "TCM"] = into[preset + "DCM"];
    for (const char letter : {'A', 'H', 'R', 'W'})
      if (number > 1) into[preset + "TC" + letter] = into[preset + "DC" + letter];
  }
  const std::string own = "MODEL_" + level + "_";
  into[own + "DEMAND_ACCESSES"] = demand;
  into[own + "DEMAND_MISSES"] = demand_misses;
  into[own + "WALK_ACCESSES"] = c.accessed(Cause::walk);
  into[own + "WALK_MISSES"] = c.missed(Cause::walk);
  into[own + "PREFETCH_ACCESSES"] = c.accessed(Cause::prefetch);
  into[own + "PREFETCH_MISSES"] = c.missed(Cause::prefetch);
  into[own + "PREFETCHES"] = c.prefetches;
  into[own + "EVICTIONS"] = c.evictions;
  into[own + "WRITE_BACKS"] = c.write_backs;
  into[own + "INVALIDATIONS"] = c.invalidations;
}

/// Of a level that each of several cores has for itself.
void add_coherence(Metrics& into, const LevelCounts& c, std::size_t number) {
  const std::string own = "MODEL_L" + std::to_string(number) + "_COHERENCE_";
  into[own + "MISSES"] = c.coherence_misses;
  into[own + "INVALIDATIONS"] = c.coherence_invalidations;
  into[own + "WRITE_BACKS"] = c.coherence_write_backs;
}

std::int64_t both(const LevelCounts& c, bool misses) {
  return misses ? c.missed(Cause::load) + c.missed(Cause::store)
                : c.accessed(Cause::load) + c.accessed(Cause::store);
}

/// How often the processor fetches a line depends on how many bytes it fetches at a time; one fetch per line
/// and visit is counted. Requests by instructions are among all requests of a level.
void add_instructions(Metrics& into, const Counts& counts) {
  constexpr auto cause = Cause::fetch;
  const auto add = [&](std::size_t number, const LevelCounts& c) {
    const std::string preset = "PAPI_L" + std::to_string(number) + "_";
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
    const std::string own = "MODEL_L" + std::to_string(i + 1) + "_FETCH_";
    into[own + "ACCESSES"] = counts.levels[i].accessed(cause);
    into[own + "MISSES"] = counts.levels[i].missed(cause);
    if (i < 3) add(i + 1, counts.levels[i]);
  }
  for (std::size_t i = 0; i < counts.instruction_tlb.size(); ++i) {
    const std::string own = "MODEL_ITLB" + std::to_string(i + 1) + "_";
    into[own + "ACCESSES"] = counts.instruction_tlb[i].accessed(cause);
    into[own + "MISSES"] = counts.instruction_tlb[i].missed(cause);
  }
  if (counts.instruction_tlb.empty()) return;
  into["PAPI_TLB_IM"] = counts.instruction_tlb.back().missed(cause);
  into["PAPI_TLB_TL"] = into["PAPI_TLB_DM"] + into["PAPI_TLB_IM"];
}

constexpr std::array<const char*, prefetch_kinds> prefetch_names{"NEXT_LINE", "ADJACENT_LINE", "STREAMER"};

void add_prefetchers(Metrics& into, const std::vector<Prefetcher>& described, const LevelPrefetchCounts& all,
                     std::size_t level) {
  for (const Prefetcher& by : described) {
    const PrefetchCounts& c = all[model::number(by.kind)];
    const std::string own =
        "MODEL_L" + std::to_string(level) + "_" + prefetch_names[model::number(by.kind)] + "_";
    into[own + "FETCHES"] = c.fetches;
    into[own + "USEFUL"] = c.useful;
    into[own + "USELESS"] = c.useless;
  }
}

/// What the machine says of its presets, where it has all that they add up.
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

Metrics of(const Counts& counts, const MachineDescription& machine) {
  Metrics all;
  all["PAPI_LD_INS"] = counts.loads;
  all["PAPI_SR_INS"] = counts.stores;
  all["PAPI_LST_INS"] = counts.loads + counts.stores;
  for (std::size_t i = 0; i < counts.levels.size(); ++i)
    add_level(all, counts.levels[i], i + 1);
  for (std::size_t i = 0; i < counts.levels.size() && machine.cores > 1; ++i)
    if (!machine.levels[i].shared) add_coherence(all, counts.levels[i], i + 1);
  for (std::size_t i = 0; i < counts.levels.size(); ++i)
    if (machine.levels[i].sector > 0)
      all["MODEL_L" + std::to_string(i + 1) + "_SECTOR_MISSES"] = counts.levels[i].sector_misses;
  for (std::size_t i = 0; i < counts.levels.size(); ++i)
    add_prefetchers(all, machine.levels[i].prefetch, counts.prefetch[i], i + 1);
  for (std::size_t i = 0; i < counts.tlb.size(); ++i) {
    const std::string own = "MODEL_TLB" + std::to_string(i + 1) + "_";
    all[own + "ACCESSES"] = both(counts.tlb[i], false);
    all[own + "MISSES"] = both(counts.tlb[i], true);
  }
  if (!counts.tlb.empty()) all["PAPI_TLB_DM"] = both(counts.tlb.back(), true);
  if (counts.fetched) add_instructions(all, counts);
  redefine(all, machine);
  return all;
}

/// Without what is not known of a family's members.
void leave_known(Metrics& all) {
  for (const char* name : {"MODEL_L1_EVICTIONS", "MODEL_L1_WRITE_BACKS"})
    all.erase(name);
}

} // namespace

Metrics metrics(const Hierarchy& hierarchy, const FamilyMember& member) {
  Counts counts = hierarchy.counts();
  for (const Cause cause : {Cause::load, Cause::store})
    counts.levels.front().misses[static_cast<std::size_t>(cause)] = hierarchy.misses(member, cause);
  Metrics all = of(counts, hierarchy.machine());
  leave_known(all);
  return all;
}

Metrics metrics(const Counts& counts, const MachineDescription& machine) {
  return of(counts, machine);
}

Metrics metrics(const Hierarchy& hierarchy) {
  return of(hierarchy.counts(), hierarchy.machine());
}

namespace {

/// Misses of the TLBs, and of the caches down to the level that the name of a metric contains, which were not
/// settled by the warm-up.
double unsettled(const std::string& metric, const Hierarchy& hierarchy) {
  const auto& all = hierarchy.sampling->unsettled;
  const std::size_t tlbs = all.size() - hierarchy.levels();
  std::size_t count = metric.ends_with("_INS") ? 0 : tlbs;
  for (std::size_t level = 1; level <= hierarchy.levels(); ++level)
    if (metric.find("_L" + std::to_string(level) + "_") != std::string::npos) count = tlbs + level;
  return std::accumulate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
}

} // namespace

std::map<std::string, double> sampling_errors(const Hierarchy& hierarchy) {
  std::map<std::string, double> errors;
  if (!hierarchy.sampling) return errors;
  std::map<std::string, std::vector<double>> values;
  for (const Counts& estimate : hierarchy.sampling->estimates)
    for (const auto& [name, value] : of(estimate, hierarchy.machine()))
      values[name].push_back(static_cast<double>(value));
  constexpr double n = Sampling::samples;
  for (const auto& [name, all] : values) {
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
  Metrics all = of(none, machine);
  if (!machine.family.empty()) leave_known(all);
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
