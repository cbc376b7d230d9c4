// Checks a preset table for all its CPUs at once, with no hardware.
#pragma once

#include "count/lint/rules.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/view.hpp"

#include <optional>
#include <string>

namespace recount::lint {

struct LintOptions {
  std::optional<PapiVersion> version;                        ///< none: chosen by the table
  std::string cpu;                                           ///< only this one; empty: all
  const std::vector<preset::Identity>* identities = nullptr; ///< null: those built in
  const preset::Catalogue* catalogue = nullptr; ///< preferred to libpfm4 for its PMUs; may be null
  bool cpu_may_lack = false;                    ///< a table without `cpu` has no findings
  bool strict = false;                          ///< CPUs whose event names cannot be checked are errors
};

/// A comment of the table that suppresses findings.
struct Allowed {
  int line = 0; ///< of the comment
  std::string rule = {}, reason = {};
  std::size_t places = 0; ///< number of suppressed places
};

struct LintResult {
  std::vector<Finding> findings;      ///< ranked
  std::vector<std::string> checked;   ///< CPUs whose event names were looked up
  std::vector<std::string> listed;    ///< those of them whose events are from a catalogue
  std::vector<std::string> unchecked; ///< those whose event names nothing here can check
  std::vector<std::string> obsolete;  ///< names that no libpfm4 PMU can have
  std::vector<Allowed> allowed;       ///< findings that comments of the table suppress
  preset::NeededVersion version;      ///< the reader that was followed; `construct` when the table chose it
  std::vector<preset::ComponentBlock> components; ///< their events are not checked
  int presets = 0;                                ///< definitions in force, over all CPUs
  std::vector<preset::CpuView> views;             ///< each CPU that was looked at
};

/// Throws Error (bad_input) when `options.cpu` is not in the table.
[[nodiscard]] LintResult lint(const PresetTable& table, const LintOptions& options);

/// Checks a table of user events, which PAPI reads after `table`: they may use its presets as terms.
[[nodiscard]] LintResult lint_user_events(const PresetTable& table, const PresetTable& user,
                                          const LintOptions& options);

/// Where the events of a CPU are listed: its PMU, and the catalogue that has it, if libpfm4 has not.
struct EventSource {
  const event::pfm::Table* core = nullptr;
  const preset::Catalogue* catalogue = nullptr;
};
[[nodiscard]] EventSource find_source(const std::string& cpu, const preset::Catalogue* named);

/// The names of all PMUs with known events: libpfm4's, and those of the catalogues. `named` may be null.
[[nodiscard]] std::set<std::string> known_pmus(const preset::Catalogue* named);

/// Uses the libpfm4 of a source tree of PAPI, or of libpfm4 itself, from now on instead of the installed one:
/// built with the tables of all architectures, or from the user's cache if these sources were built before.
/// Code of the tree is executed. Throws Error: bad_input for another folder and for sources that cannot be
/// compiled, unavailable without a C compiler. Its preset table is used in place of the installed ones.
void use_papi_source(const std::string& folder);

/// Whether one event is a part of the other by definition (data/sums.txt).
[[nodiscard]] bool is_part(std::string_view whole, std::string_view part);
/// An event that is the sum of others by definition (data/sums.txt).
struct EventSum {
  std::string whole;              ///< "L1D_CACHE"
  std::vector<std::string> parts; ///< "L1D_CACHE_RD", "L1D_CACHE_WR"; "..." for parts without events
};
[[nodiscard]] const std::vector<EventSum>& event_sums();
/// Replaces events that are sums of others by their parts where the form has all parts.
void expand_sums(const preset::CpuView& view, formula::Linear& form);
/// The same, after unit masks of one event have been cancelled that add up: A:x + A:y - A:x:y.
void reduce(const preset::CpuView& view, formula::Linear& form);

/// The number of the block of each line: CPU rows one after the other, and the rows below them.
[[nodiscard]] std::map<int, int> blocks(const preset::Document& table);

// The families of rules: over the text, over one CPU, over all.

void check_text(const preset::Document& table, PapiVersion version, Findings& findings);
void check_reading(const preset::CpuView& view, Findings& findings);
void check_formulas(const preset::CpuView& view, const preset::Document& table, Findings& findings);
/// All presets of one meaning are one finding, unless each two of them may be equal.
void check_family(const preset::CpuView& view, Findings& findings);
/// The counters that can count the event, one bit each: general ones from bit 0, fixed ones from bit 32.
[[nodiscard]] std::uint64_t find_counters(const preset::CpuView& view, const preset::Native& native);
/// Whether each of some events, with these counters, gets a counter of its own: if any counters are all that
/// at most as many events have (Hall, "On Representatives of Subsets", 1935).
[[nodiscard]] bool fit_counters(const std::vector<std::uint64_t>& allowed);
void check_counters(const preset::CpuView& view, Findings& findings);
void check_meaning(const preset::CpuView& view, Findings& findings);
void check_errata(const preset::CpuView& view, Findings& findings);
void check_identities(const preset::CpuView& view, const std::vector<preset::Identity>& identities,
                      Findings& findings);
/// The families of related CPUs (data/relatives.txt), by libpfm4's names.
[[nodiscard]] const std::vector<std::vector<std::string>>& families();
/// Whether PAPI loads no rows of a PMU (data/relatives.txt).
[[nodiscard]] bool never_loaded(const std::string& cpu);
/// Compares the presets of each CPU with those of its relatives.
void check_relatives(const std::vector<preset::CpuView>& views, Findings& findings);
void check_rows(const preset::Document& table, const std::vector<preset::CpuView>& views, Findings& findings);
/// `obsolete`: whether a CPU name is one that PAPI no longer uses.
void check_blocks(const preset::Document& table, bool (*obsolete)(const std::string& cpu),
                  Findings& findings);
/// Computes the hashes of all occurrences. They do not depend on line numbers, notes or the wording of
/// messages.
void mark(const preset::Document& table, std::vector<Finding>& findings);
/// The hash of a finding: the same whatever CPUs it concerns.
[[nodiscard]] std::string fingerprint(const Finding& finding);
/// Removes findings that comments of the table allow; unused allowances become findings.
void apply_allowances(const preset::Document& table, bool all_cpus, LintResult& result);

} // namespace recount::lint
