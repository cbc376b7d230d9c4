// A preset table as lines and fields, split exactly where PAPI splits.
#pragma once

#include <recount/preset.hpp>

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
  [[nodiscard]] const std::vector<std::size_t>& rows_of(std::string_view cpu) const;
};

/// Bytes of a line that PAPI reads in one go (LINE_MAX - 1).
inline constexpr std::size_t longest_line = 2047;

[[nodiscard]] Document parse(std::string_view text);
/// The line whose first field is at that place; null: none.
[[nodiscard]] const Line* line_at(const Document& document, Place place) noexcept;
/// The bytes of a file. Throws Error (bad_input) with this fix when it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path, const std::string& fix);

/// Throws Error (bad_input) for a text without a row of a CPU or a preset: some other file.
void require_rows(const PresetTable& table);

/// As strcasecmp() in the C locale.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b) noexcept;
/// In ASCII, as tolower() in the C locale.
[[nodiscard]] std::string lower_case(std::string_view text);
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
/// What is wrong with a row of a block; empty: nothing. Its events cannot be checked without the component.
[[nodiscard]] std::string structure_problem(const ComponentBlock& block, const Line& row);

/// The oldest reader that knows all constructs of a table.
struct NeededVersion {
  PapiVersion version = PapiVersion::v7_0;
  Place place;           ///< of the construct that an older one does not know
  std::string construct; ///< what it is; empty for v7_0
};
[[nodiscard]] NeededVersion needed_version(const Document& document);
/// The value of --papi-version; none for an empty text. Throws Error (bad_input) for another one.
[[nodiscard]] std::optional<PapiVersion> parse_papi_version(const std::string& text);

} // namespace recount::preset
