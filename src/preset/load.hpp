// Reads a table as PAPI does on one kind of CPU, with diagnostics.
#pragma once

#include "preset/preset_table.hpp"

#include <recount/preset.hpp>

#include <functional>
#include <string>

namespace recount::preset {

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
  std::function<void(const Diagnostic&)> on_diagnostic = nullptr; ///< may be empty
};

[[nodiscard]] LoadedTable load(const Document& table, const Reading& reading);

} // namespace recount::preset
