#include "lint/rules.hpp"

#include <algorithm>
#include <stdexcept>

namespace recount::preset {
namespace {

using enum Severity;

constexpr Rule rule_table[] = {
    // grammar
    {"crash", error, 1, "every program that starts PAPI on this CPU dies in PAPI_library_init()"},
    {"overrun", error, 2,
     "PAPI writes beyond a buffer while it loads the table, and nothing is sure afterwards"},
    {"half-read", error, 3,
     "PAPI keeps the preset with the terms before the unknown one: it counts too little without a word, and "
     "PAPI_get_event_info() (papi_avail) crashes"},
    {"dropped-terms", error, 10, "PAPI takes no more terms than that and counts without the rest, silently"},
    {"swallowed-term", error, 11,
     "what follows a note is not a term to PAPI, so the preset counts without it"},
    {"blank-field", error, 12, "a field of blanks ends the row, so the preset counts without what follows"},
    {"carriage-return", error, 13, "PAPI keeps the CR as part of the last word, which then names nothing"},
    {"long-line", error, 14, "PAPI reads 2047 bytes at a time and takes the rest as a line of its own"},
    {"nul-byte", error, 15, "PAPI stops reading the table at a line that starts with a NUL byte"},
    {"ends-table", error, 16, "PAPI 7.3 stops reading at the first foreign line after the CPU's own"},
    {"ignored-row", error, 17, "PAPI skips the row without a word, and loses an earlier definition"},
    {"ignored-line", warning, 40, "PAPI skips the line without a word"},
    {"cut-note", note, 90, "quotes do not protect commas: PAPI keeps the note up to the first comma"},
    // names
    {"refused-event", error, 20,
     "libpfm4 refuses the combination; PAPI 7.0 forgets that and accepts the same words a second time"},
    {"unknown-mask", error, 21, "PAPI does not offer the preset on this CPU"},
    {"unknown-event", error, 22, "PAPI does not offer the preset on this CPU"},
    {"wrong-pmu", error, 23, "presets can use the core's own PMU and perf's generic events only"},
    {"empty-nested", error, 24, "the term is a preset without a definition: it counts as nothing"},
    {"unknown-preset", warning, 30,
     "PAPI makes up a new preset; a program that asks for the real one does not get it"},
    {"unknown-cpu", note, 91, "no libpfm4 PMU can have such a name, so its rows serve nobody today"},
    // formulas
    {"formula-dies", error, 4, "an assertion of PAPI ends the program at its first read"},
    {"formula-cut", error, 5, "PAPI stops at the character and returns what it had computed first"},
    {"missing-term", error, 6, "PAPI reads memory that holds no counter"},
    {"nested-wrong", error, 7, "PAPI's rewriting of nested presets goes wrong here, and the value with it"},
    {"same-term-twice", error, 8, "what happened once is counted or taken away twice"},
    {"infix-order", error, 9, "PAPI reads a-b-c as a-(b-c) and a/b/c as a/(b/c)"},
    {"impossible", error, 18, "the count cannot be what the preset's name says"},
    {"unused-term", warning, 31, "the term takes a counter and changes nothing"},
    {"one-term", warning, 32, "an operation over one term is the term: another one may have been lost"},
    {"can-go-negative", note, 80,
     "where the second event happens without the first, the preset turns negative"},
    {"can-divide-by-zero", note, 81,
     "over a region without that event the value is an arbitrary number, or the program dies"},
    // tables
    {"redefined", warning, 33, "the last row of a CPU wins, the earlier one is dead"},
    {"dead-row", warning, 34, "later rows replace it for each CPU that it names"},
    {"same-formula", warning, 35, "two presets that mean different things count the same event"},
    {"too-many-counters", warning, 36,
     "the preset fits the PMU only with multiplexing, which presets do not ask for"},
    // identities
    {"identity", warning, 37, "presets of one family should add up on any code"},
    {"other-sources", warning, 38,
     "the whole and its parts are counted by events that have nothing in common, so a part can exceed the "
     "whole"},
    {"identity-note", note, 83, "the sides count different events, so they may differ on some code"},
    // allowances
    {"unused-allowance", warning, 39, "it silences nothing any more"},
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

Finding& Findings::add(std::string_view rule, const std::string& key, const Where& where, std::string message,
                       std::string suggestion) {
  const auto [at, fresh] = index_.try_emplace({std::string(rule), key}, found_.size());
  if (fresh) {
    const Rule* const known = rule_named(rule);
    if (!known) throw std::logic_error("no such rule: " + std::string(rule));
    found_.push_back({known, std::move(message), std::move(suggestion), {}, {}, {}, {}, 0});
  }
  Finding& finding = found_[at->second];
  insert(finding.places, where.place);
  if (!where.preset.empty()) insert(finding.presets, where.preset);
  if (!where.cpu.empty()) insert(finding.cpus, where.cpu);
  return finding;
}

Finding& Findings::add_here(std::string_view rule, const Where& where, std::string message,
                            std::string suggestion) {
  const std::string key =
      std::to_string(where.place.line) + ":" + std::to_string(where.place.column) + " " + message;
  return add(rule, key, where, std::move(message), std::move(suggestion));
}

std::vector<Finding> Findings::ranked(const std::set<std::string>& living) && {
  for (Finding& finding : found_) {
    std::ranges::sort(finding.places, {}, [](const Place& p) { return std::pair(p.line, p.column); });
    const auto dead = std::ranges::stable_partition(
        finding.cpus, [&](const std::string& cpu) { return living.contains(cpu); });
    finding.living = finding.cpus.empty() ? living.size() : finding.cpus.size() - dead.size();
  }
  const auto order = [](const Finding& a, const Finding& b) {
    if ((a.living == 0) != (b.living == 0)) return b.living == 0;
    if (a.rule->severity != b.rule->severity) return a.rule->severity < b.rule->severity;
    if (a.rule->rank != b.rule->rank) return a.rule->rank < b.rule->rank;
    if (a.living != b.living) return a.living > b.living;
    return a.places.front().line < b.places.front().line;
  };
  std::ranges::stable_sort(found_, order);
  return std::move(found_);
}

} // namespace recount::preset
