// A preset as its row defines it, in ordinary arithmetic: what PAPI should compute. (load() gives what it
// does compute.)
#pragma once

#include "count/preset/preset_table.hpp"
#include "count/preset/view.hpp"

#include <recount/preset.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recount::preset {

/// A row by its definition: infix with left-associativity, every term, nested presets by value.
struct Written {
  /// The value of N0, N1 …: a native event or another preset.
  struct Operand {
    std::string native;                    ///< empty: a preset
    std::shared_ptr<const Written> preset; ///< null: a native event
  };
  std::string name;
  Derived type = Derived::none; ///< infix becomes postfix
  std::string postfix;          ///< for postfix
  std::vector<Operand> operands;
  std::string problem; ///< why the row cannot be counted; empty: it can
};

/// The definition in force, as its row in `table` (or in `user`, which may be null) gives it.
[[nodiscard]] Written written(const Preset& preset, const LoadedTable& loaded, const Document& table,
                              const Document* user);

/// The native events of a row and of the presets in it, each spelling once.
[[nodiscard]] std::vector<std::string> natives(const Written& written);

/// Whether the value is a sum of multiples of counts, without a constant: then counts may be subtracted value
/// by value.
[[nodiscard]] bool linear(const Written& written);

/// The value of the row. None (`dies`, with `why`) for x/0, a result beyond 64
/// bits, a formula that cannot be read. `count` returns the count of a native event; `max_mhz` as for
/// recount::evaluate().
[[nodiscard]] PresetValue evaluate(const Written& written,
                                   const std::function<long long(const std::string& native)>& count,
                                   int max_mhz);

// The presets of this machine: those that PAPI loads, their rows, and why the others are missing.

/// In infix over the names of its native events: "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS". Empty when it
/// cannot be evaluated.
[[nodiscard]] std::string formula_text(const Preset& preset);

/// Has a table take the place of those that are installed and of PAPI's. For one-time use at the start of a
/// command.
void use_table(const std::string& path);
/// The tables that are installed with PAPI, of whatever release, sorted. Throws Error (unavailable) when
/// there is none.
[[nodiscard]] std::vector<std::string> installed_tables();
/// The table that PAPI reads: PAPI_CSV_EVENT_FILE, else the one that is installed with it. (PAPI has the
/// latter built in and does not look at the file.) Throws Error (unavailable) when there is none.
[[nodiscard]] std::string papi_table();
/// PAPI_USER_EVENTS_FILE; empty when it is not set.
[[nodiscard]] std::string papi_user_events();

/// Why a preset of this name is not available by the view: in a clause, never empty. `table` is what was
/// viewed.
[[nodiscard]] std::string why_not(const CpuView& view, const PresetTable& table, std::string_view name);
/// Whether the table has rows for a CPU of that name.
[[nodiscard]] bool has_rows(const PresetTable& table, std::string_view cpu);

/// The tables of PAPI, loaded for this machine's CPU. Immutable.
class MachinePresets {
public:
  /// Throws Error: unavailable when libpfm4 does not know the CPU or no table is installed; bad_input when a
  /// table cannot be read or crashes PAPI, naming the row.
  explicit MachinePresets(PapiVersion version);

  /// The definition of a preset or user event, in any case of letters; null when PAPI has none here.
  [[nodiscard]] const Preset* find(std::string_view name) const noexcept { return view_.loaded.find(name); }
  [[nodiscard]] Written written(const Preset& preset) const;
  /// Why find() gives nothing.
  [[nodiscard]] std::string why_not(std::string_view name) const {
    return preset::why_not(view_, *table_, name);
  }
  [[nodiscard]] const CpuView& view() const noexcept { return view_; }
  [[nodiscard]] const PresetTable& table() const noexcept { return *table_; }

private:
  std::unique_ptr<const PresetTable> table_, user_; ///< user_: null without user events
  CpuView view_;
};

} // namespace recount::preset
