// recount check --counts: relations between counts of a results file or a table, whoever counted them.
#pragma once

#include "base/json.hpp"
#include "run/verdict/relations.hpp"
#include "show/document/table.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::check {

/// The counts of one kind of CPU.
struct CountsSet {
  std::string cpu = {}; ///< as stated; empty: not
  std::string pmu = {}; ///< libpfm4's name of its core PMU; empty: not known
  preset::CpuKind kind = preset::CpuKind::any;
  std::vector<CountedPlace> places = {};
  std::set<std::string> metrics = {};
};

/// Reads a results file, or a table of presets by run (CSV: the first column names the run, rows of one name
/// are its repetitions). Modelled values, times, and events with a qualifier of the domain are left out;
/// `left_out`: other columns without relations. Throws Error (bad_input).
[[nodiscard]] std::vector<CountsSet> read_counts(const std::string& file, std::vector<std::string>& left_out);

/// The conclusions on a set.
struct CountsFindings {
  CountsSet set;
  std::string table;                   ///< the preset table; empty: none, or none of its rows are for the CPU
  std::optional<preset::CpuView> view; ///< none likewise
  Relations relations;
  std::vector<PlaceFindings> places;
};

/// `table`: empty for PAPI's; `pmu`: empty for what the file states. Throws Error (bad_input) for a PMU that
/// nothing here knows, and for a table that cannot be read.
[[nodiscard]] CountsFindings test_counts(CountsSet set, const std::string& table, const std::string& pmu);

/// Broken relations, and those that the rows do not imply.
[[nodiscard]] std::vector<show::Table> counts_tables(const CountsFindings& findings);
/// For a screen; `all`: every place and row.
[[nodiscard]] std::string counts_text(const CountsFindings& findings, bool all, std::size_t columns);
[[nodiscard]] Json counts_json(const CountsFindings& findings);

} // namespace recount::check
