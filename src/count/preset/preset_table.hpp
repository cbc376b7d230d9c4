// A preset table as lines and fields, split exactly where PAPI splits.
#pragma once

#include <recount/preset.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::preset {
/// The text between two commas, without surrounding blanks (space and tab, not CR). Empty fields are dropped;
/// a field of blanks is kept and is empty.
struct Field {
  std::string text;
  Place place;
};

enum class Kind {
  blank,   ///< nothing, or a first field of blanks: PAPI skips the whole line
  comment, ///< `#` first
  cpu,     ///< CPU,name[,type]
  preset,  ///< PRESET or EVENT,name,type,[formula,]term…
  other    ///< any other first word
};

struct Line {
  Kind kind = Kind::blank;
  int number = 0;            ///< in the file, from 1
  std::vector<Field> fields; ///< without those of a comment
  std::string comment;       ///< the text after `#`
  bool continued = false;    ///< the rest of a line that is longer than PAPI's buffer
};

struct Document {
  std::vector<Line> lines;
  int ended_by_nul = 0; ///< the line that starts with a NUL byte, where PAPI stops reading; else 0
  /// Indices in `lines` of the CPU rows of each name in lower case: a table may have 10^5 CPUs.
  std::unordered_map<std::string, std::vector<std::size_t>> cpu_rows = {};
  std::vector<std::size_t> presets = {},
                           others = {}; ///< indices of the lines of Kind::preset and Kind::other
  /// The CPU rows of that name, in any case of letters.
  [[nodiscard]] const std::vector<std::size_t>& rows_for(std::string_view cpu) const;
};

/// Bytes of a line that PAPI reads in one go (LINE_MAX - 1).
inline constexpr std::size_t longest_line = 2047;

[[nodiscard]] Document parse(std::string_view text);
/// The line whose first field is at that place; null: none.
[[nodiscard]] const Line* line_at(const Document& document, Place place) noexcept;

/// Throws Error (bad_input) for a text without a row of a CPU or a preset: some other file.
void require_rows(const PresetTable& table);

/// As strcasecmp() in the C locale.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b) noexcept;
[[nodiscard]] std::string_view trim_blanks(std::string_view text) noexcept;
/// A note without the pair of quotes or brackets around it, as PAPI strips them.
[[nodiscard]] std::string trim_note(std::string_view text);
/// NOTE, LDESC or SDESC.
[[nodiscard]] bool is_description(std::string_view word) noexcept;

/// The terms of a row of that type, up to a blank field or a description.
[[nodiscard]] std::vector<std::string> row_terms(const Line& line, Derived type);

// Presets of components (PAPI 7.3): "cuda,GH100" above rows whose terms are events of that component.

/// A run of rows "COMPONENT,DEVICE" and the rows of presets below it.
struct ComponentBlock {
  std::string component;            ///< "cuda"
  std::vector<std::string> devices; ///< "GH100"
  Place place;
  std::vector<Line> rows; ///< of presets
};

/// "PRESET" or "CPU" for a word that is mistyped, such as "prest"; else empty.
[[nodiscard]] std::string_view mistyped_keyword(std::string_view word);
/// Whether a line begins the presets of a component: its first word may be a component's name, and is no
/// mistyped keyword, and a device follows.
[[nodiscard]] bool names_component(const Line& line);
[[nodiscard]] std::vector<ComponentBlock> component_blocks(const Document& document);
/// The table as PAPI 7.3 reads it for a component: "cuda,GH100" becomes a row of the CPU "cuda:GH100", and
/// rows of CPUs are other lines.
[[nodiscard]] Document select_component(const Document& document, const std::string& component);

/// The oldest reader that knows all constructs of a table.
struct NeededVersion {
  PapiVersion version = PapiVersion::v7_0;
  Place place;           ///< of the construct that an older one does not know
  std::string construct; ///< what it is; empty for v7_0
};
[[nodiscard]] NeededVersion needed_version(const Document& document);
/// The value of --papi-version; none for an empty text. Throws Error (bad_input) for another one.
[[nodiscard]] std::optional<PapiVersion> parse_papi_version(const std::string& text);

// Reads a table as PAPI does on one kind of CPU, with diagnostics.

/// Conditions that PAPI does not report (its messages are off unless PAPI_VERBOSE is set).
enum class DiagnosticKind {
  no_name,        ///< PRESET or CPU and nothing more: the row is ignored
  no_room,        ///< all 128 places are taken
  no_type,        ///< crashes on PAPI's own names, ignored on others
  unknown_type,   ///< likewise
  no_formula,     ///< likewise
  no_terms,       ///< the row is ignored, an earlier definition is lost
  unknown_term,   ///< the first term: the preset is unavailable
  half_read,      ///< a later term: the preset counts the terms before it
  refused_twice,  ///< libpfm4 refuses the term, PAPI accepts it the second time
  dropped_terms,  ///< more terms than PAPI takes
  redefined,      ///< a second definition; `other` is the first
  new_name,       ///< not one of PAPI's presets: it gets a place of its own
  nested,         ///< a term is a preset
  nested_unknown, ///< a term is a preset that has no definition: it is not counted
  bad_infix,      ///< a `)` without `(`: PAPI crashes
  undefined,      ///< undefined behaviour in PAPI
  note_tail,      ///< text after a note is neither a note nor a term
  blank_field,    ///< a field of blanks ends the row early
  table_ended,    ///< 7.3: PAPI stops reading at a line that is neither CPU nor PRESET
  lost_block,     ///< 7.3: a further CPU row below such a line, or below a component's; `other` is the line
  wrong_type      ///< CPU,name,number with another number: the rows are not for this CPU
};

struct Diagnostic {
  DiagnosticKind kind;
  Place place;
  std::string preset; ///< the row's preset, as written
  std::string text;   ///< the word concerned
  Place other = {};   ///< see DiagnosticKind
};

struct Reading {
  std::string_view cpu;
  int type = -1;
  const NativeLookup* known = nullptr;
  PapiVersion version = PapiVersion::v7_0;
  const Document* user = nullptr;
  std::string_view component = {}; ///< whose presets these are; empty: those of CPUs
  std::function<void(const Diagnostic&)> on_diagnostic = nullptr; ///< may be empty
};

[[nodiscard]] LoadedTable load(const Document& table, const Reading& reading);

} // namespace recount::preset
