#include "lint/rules.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace recount::lint {
namespace {

using enum Severity;

constexpr Rule rule_table[] = {
    // grammar
    {"crash", error, 1, "every program that initialises PAPI on this CPU crashes in PAPI_library_init()"},
    {"overrun", error, 2,
     "PAPI writes beyond a buffer while it loads the table, with undefined behaviour afterwards"},
    {"half-read", error, 3,
     "PAPI keeps the preset with the terms before the unknown one: it undercounts without a warning, and "
     "PAPI_get_event_info() (papi_avail) crashes up to PAPI 7.2"},
    {"dropped-terms", error, 10, "PAPI ignores the terms beyond its maximum without a warning"},
    {"swallowed-term", error, 11,
     "PAPI does not read terms after a note, so the preset is counted without them"},
    {"blank-field", error, 12,
     "a blank field ends the row, so the preset is counted without the terms after it"},
    {"carriage-return", error, 13, "PAPI keeps the CR as part of the last name, which is then unknown"},
    {"long-line", error, 14, "PAPI reads at most 2047 bytes per line and treats the rest as a new line"},
    {"nul-byte", error, 15, "PAPI stops reading the table at a line that starts with a NUL byte"},
    {"ends-table", error, 16, "PAPI 7.3 stops reading at the first unknown line after the rows of the CPU"},
    {"ignored-row", error, 17, "PAPI skips the row without a warning and discards an earlier definition"},
    {"component-row", error, 26, "PAPI cannot use this row of a component"},
    {"empty-block", error, 19, "PAPI gives a CPU without rows the rows of the next block"},
    {"ignored-line", warning, 40, "PAPI skips the line without a warning"},
    {"cut-note", note, 90, "quotes do not protect commas: PAPI keeps the note up to the first comma"},
    // names
    {"refused-event", error, 20,
     "libpfm4 rejects the combination; PAPI 7.0 accepts the same name when it occurs a second time"},
    {"unknown-mask", error, 21, "PAPI does not offer the preset on this CPU"},
    {"unknown-event", error, 22, "PAPI does not offer the preset on this CPU"},
    {"wrong-pmu", error, 23, "presets can use only the PMU of the core and perf's generic events"},
    {"empty-nested", error, 24, "the term is an undefined preset and is not counted"},
    {"unknown-preset", warning, 30, "PAPI defines an unknown preset under this name"},
    {"unknown-cpu", note, 91, "libpfm4 has no PMU with such a name, so its rows are never used"},
    // formulas
    {"formula-dies", error, 4, "an assertion in PAPI aborts the program at its first read"},
    {"formula-cut", error, 5, "PAPI stops at this character and returns the intermediate value"},
    {"missing-term", error, 6, "PAPI reads memory that is not a counter value"},
    {"nested-wrong", error, 7, "PAPI expands these nested presets incorrectly, so the value is wrong"},
    {"nested-name", error, 25,
     "PAPI_event_name_to_code() fails for a preset with presets as terms, so programs cannot add it by name"},
    {"same-term-twice", error, 8, "the same event appears twice in the sum"},
    {"infix-order", error, 9, "PAPI evaluates a-b-c as a-(b-c) and a/b/c as a/(b/c)"},
    {"impossible", error, 18, "the formula cannot count what the preset defines"},
    {"unused-term", warning, 31, "the term uses a counter without effect on the value"},
    {"one-term", warning, 32, "an operation with one term has no effect: a term may be missing"},
    {"can-go-negative", note, 80, "if the subtracted event occurs without the other, the value is negative"},
    {"can-divide-by-zero", note, 81, "if the divisor is 0, the value is arbitrary or the program crashes"},
    // meaning
    {"scalar-as-vector", warning, 20, "the preset counts vector instructions, the event scalar ones"},
    {"stores-as-loads", warning, 21, "the preset counts loads, the event stores"},
    {"loads-as-stores", warning, 22, "the preset counts stores, the event loads"},
    {"instructions-as-data", warning, 23,
     "the preset counts accesses to data, the event instruction fetches"},
    {"data-as-instructions", warning, 24,
     "the preset counts instruction fetches, the event accesses to data"},
    {"cycles-as-instructions", warning, 25, "the preset counts instructions, the event cycles"},
    {"instructions-as-cycles", warning, 26, "the preset counts cycles, the event instructions"},
    {"not-mispredicted", warning, 27, "the preset counts mispredicted branches, the event all of them"},
    {"other-level", warning, 28, "the event is one of another cache level"},
    {"prefetches-as-demand", warning, 29, "the preset counts loads or stores, the event includes prefetches"},
    {"accesses-as-hits", warning, 41, "the preset counts hits, the event all accesses"},
    {"hits-as-accesses", warning, 42, "the preset counts accesses, the formula subtracts the misses"},
    {"misses-as-accesses", warning, 43, "misses are accesses: adding them counts them twice"},
    {"loads-as-total", warning, 44, "the preset counts data and instructions, the event loads only"},
    {"unconditional-as-conditional", warning, 45,
     "the preset counts conditional branches, the event all branches"},
    {"bus-cycles-as-reference", warning, 46,
     "the preset counts at the rate of the time-stamp counter, the event at that of the bus"},
    {"not-floating-point", warning, 47,
     "the preset counts floating-point instructions, the event is not described as such"},
    {"flop-weight", warning, 48, "the weight of the event is not its number of operations"},
    {"miscounted-event", warning, 49, "the vendor published that these CPUs count the event wrongly"},
    {"outlier", warning, 50, "related CPUs use another formula, whose events exist here too"},
    {"erratum", note, 84, "the vendor published that the event may count wrongly on these CPUs"},
    // tables
    {"redefined", warning, 33, "the last row of a CPU takes effect, the earlier one is unused"},
    {"dead-row", warning, 34, "later rows replace it for every CPU of its block"},
    {"same-formula", warning, 35, "two presets with different meanings count the same event"},
    {"too-many-counters", warning, 36,
     "the preset needs more counters than the PMU has, and PAPI does not multiplex presets by default"},
    // identities
    {"identity", warning, 37, "the presets of this identity should add up for any code"},
    {"other-sources", warning, 38, "total and parts use unrelated events, so a part can exceed the total"},
    {"identity-note", note, 83, "the sides use different events, so they may differ for some code"},
    // allowances
    {"unused-allowance", warning, 39, "the allowance suppresses no finding"},
};

template <class T>
void insert(std::vector<T>& list, const T& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

} // namespace

std::string_view name_of(Severity severity) noexcept {
  return severity == error ? "error" : severity == warning ? "warning" : "note";
}

std::span<const Rule> rules() noexcept {
  return rule_table;
}

const Rule* rule_named(std::string_view id) noexcept {
  const auto at = std::ranges::find(rule_table, id, &Rule::id);
  return at == std::end(rule_table) ? nullptr : &*at;
}

void Finding::keep(std::vector<Occurrence> wanted) {
  const auto old_cpus = std::exchange(cpus, {});
  const std::size_t old_known = std::exchange(known_cpus, 0);
  const auto old_places = std::exchange(places, {});
  presets.clear();
  occurrences = std::move(wanted);
  for (const Occurrence& occurrence : occurrences)
    if (!occurrence.preset.empty()) insert(presets, occurrence.preset);
  for (const Place& place : old_places)
    if (std::ranges::find(occurrences, place, &Occurrence::place) != occurrences.end()) insert(places, place);
  for (std::size_t i = 0; i < old_cpus.size(); ++i) {
    if (std::ranges::find(occurrences, old_cpus[i], &Occurrence::cpu) == occurrences.end()) continue;
    cpus.push_back(old_cpus[i]);
    known_cpus += i < old_known ? 1 : 0;
  }
  if (cpus.empty() && old_cpus.empty()) known_cpus = old_known;
}

Finding& Findings::add(std::string_view rule, const std::string& key, const Where& where, std::string message,
                       std::string suggestion) {
  const auto [at, fresh] = index_.try_emplace({std::string(rule), key}, found_.size());
  if (fresh) {
    const Rule* const known = rule_named(rule);
    if (!known) throw std::logic_error("no such rule: " + std::string(rule));
    found_.push_back({known, std::move(message), std::move(suggestion), {}, {}, {}, {}, 0, {}});
  }
  Finding& finding = found_[at->second];
  insert(finding.places, where.place);
  if (!where.preset.empty()) insert(finding.presets, where.preset);
  if (!where.cpu.empty()) insert(finding.cpus, where.cpu);
  finding.occurrences.push_back({where.place, where.preset, where.cpu, where.cause, {}, {}});
  return finding;
}

Finding& Findings::add_here(std::string_view rule, const Where& where, std::string message,
                            std::string suggestion) {
  const std::string key =
      std::to_string(where.place.line) + ":" + std::to_string(where.place.column) + " " + message;
  return add(rule, key, where, std::move(message), std::move(suggestion));
}

std::vector<Finding> Findings::ranked(const std::set<std::string>& known_cpus) && {
  for (Finding& finding : found_) {
    std::ranges::sort(finding.places, {}, [](const Place& p) { return std::pair(p.line, p.column); });
    const auto dead = std::ranges::stable_partition(
        finding.cpus, [&](const std::string& cpu) { return known_cpus.contains(cpu); });
    finding.known_cpus = finding.cpus.empty() ? known_cpus.size() : finding.cpus.size() - dead.size();
  }
  const auto order = [](const Finding& a, const Finding& b) {
    if ((a.known_cpus == 0) != (b.known_cpus == 0)) return b.known_cpus == 0;
    if (a.rule->severity != b.rule->severity) return a.rule->severity < b.rule->severity;
    if (a.rule->rank != b.rule->rank) return a.rule->rank < b.rule->rank;
    if (a.known_cpus != b.known_cpus) return a.known_cpus > b.known_cpus;
    return a.places.front().line < b.places.front().line;
  };
  std::ranges::stable_sort(found_, order);
  return std::move(found_);
}

} // namespace recount::lint
