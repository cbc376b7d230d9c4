// Preset tables (papi_events.csv): read them as PAPI reads them, and know what each preset will compute.
//
// The reading follows the behaviour of PAPI's table reader (papi_preset.c) and of its derived events
// (PAPI_derived_event_files(1)), quirks included; where releases differ, PapiVersion says which is meant.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount {

/// The PAPI release whose table reader is followed: 7.0 (8 terms per preset) or 7.3 (12 terms; a stray line
/// ends the table; unprefixed names are those of the default core PMU only).
enum class PapiVersion { v7_0, v7_3 };

/// How many terms a preset may have, and how deep the stack of its formula may grow.
[[nodiscard]] constexpr int max_terms(PapiVersion v) noexcept {
  return v == PapiVersion::v7_0 ? 8 : 12;
}

/// A position in a file. Lines and columns count from 1; a column counts bytes.
struct Place {
  int line = 0;
  int column = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// The derived types of PAPI. `infix` is only what a row says: PAPI turns it into `postfix` as it reads.
enum class Derived { none, add, sub, ps, add_ps, compound, postfix, infix };
/// "NOT_DERIVED", "DERIVED_ADD" …
[[nodiscard]] std::string_view name_of(Derived type) noexcept;
/// The type of that name, in any case of letters.
[[nodiscard]] std::optional<Derived> derived_named(std::string_view name) noexcept;

/// One native event of a loaded preset.
struct PresetNative {
  std::string name; ///< as the table first writes it, in whatever row
  int code = 0;     ///< equal codes are one and the same event to PAPI; > 0
};

/// One preset as PAPI holds it after loading.
struct Preset {
  std::string name;
  Derived type = Derived::none;      ///< after loading: never infix
  std::string written;               ///< the formula as the row has it (postfix or infix); else empty
  std::string postfix;               ///< the formula PAPI evaluates; may be there, unused, for other types
  std::vector<PresetNative> natives; ///< what N0, N1 … stand for
  std::string note, brief, text;     ///< NOTE, SDESC, LDESC
  Place place;                       ///< the row that won
  bool half_read = false; ///< a later term was unknown: PAPI 7 counts the terms before it, and crashes when
                          ///< it describes the preset (PAPI_get_event_info)
  std::string undefined;  ///< not empty: what PAPI does from here on is undefined, and why
};

/// Whether PAPI knows a name as a native event of its first component.
enum class Known {
  yes,
  no,
  refused ///< its parts are known but libpfm4 refuses to encode them; PAPI 7 forgets that it refused and
          ///< accepts the same spelling when it meets it a second time
};
/// Looks up a native name on the CPU in question.
using NativeLookup = std::function<Known(const std::string& name)>;

/// What PAPI does with a table when a program starts on one kind of CPU.
struct LoadedTable {
  std::vector<Preset>
      presets;           ///< those with at least one native: what PAPI calls available; user events last
  bool crashes = false;  ///< PAPI_library_init() crashes; `presets` has those read before
  std::string crash;     ///< why, one clause
  std::string undefined; ///< PAPI corrupts its memory while reading; later behaviour is undefined
  Place crash_place;
  /// The preset of that name, in any case of letters.
  [[nodiscard]] const Preset* find(std::string_view name) const noexcept;
};

namespace preset {
struct Document;
}

/// The text of a preset table. Immutable; may be read from several threads at once.
class PresetTable {
public:
  /// Reads a file. Throws Error (bad_input) when it cannot be read.
  static PresetTable read(const std::string& path);
  /// Takes any bytes. `name` is for messages.
  static PresetTable of(std::string text, std::string name = "table");

  /// Loads the table as PAPI does on a CPU: `cpu` is libpfm4's name of its core PMU, `type` libpfm4's number
  /// of it (rows "CPU,name,number" ask for it; -1: none fits). Never throws, whatever the bytes. `user` is
  /// the table of PAPI_USER_EVENTS_FILE, read after this one by the same rules.
  [[nodiscard]] LoadedTable load(std::string_view cpu, int type, const NativeLookup& known,
                                 PapiVersion version = PapiVersion::v7_0,
                                 const PresetTable* user = nullptr) const;
  /// The CPU names of the table, in the order of their first appearance.
  [[nodiscard]] std::vector<std::string> cpus() const;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const preset::Document& document() const noexcept { return *document_; }

private:
  std::string name_;
  std::shared_ptr<const preset::Document> document_;
};

/// What reading a preset gives.
struct PresetValue {
  enum class Ending {
    value,    ///< PAPI returns `value`
    dies,     ///< an assertion or an integer division by zero ends the process
    undefined ///< PAPI reads memory that holds no counter
  } ending = Ending::value;
  long long value = 0;
  bool divided_by_zero = false; ///< in doubles: `value` is a converted infinity or NaN
  bool out_of_range =
      false; ///< the double does not fit a long long; `value` is the result of the conversion on this CPU
  bool unreadable = false; ///< a character PAPI cannot read ended the formula early
  std::string why;         ///< for dies and undefined
};

/// Evaluates a preset over the counts of its natives, as PAPI does: doubles for formulas, truncated at the
/// end; whole numbers for the other types. `max_mhz`: the CPU's nominal frequency as PAPI states it.
[[nodiscard]] PresetValue evaluate(const Preset& preset, const std::vector<long long>& counts, int max_mhz,
                                   PapiVersion version = PapiVersion::v7_0);

} // namespace recount
