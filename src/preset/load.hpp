// Plays PAPI's reading of a table on one kind of CPU, and tells what it met on the way.
#pragma once

#include "preset/document.hpp"

#include <recount/preset.hpp>

#include <functional>
#include <string>

namespace recount::preset {

/// What the reader meets and PAPI does not tell (its messages are off unless PAPI_VERBOSE is set).
enum class What {
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
  nested_unknown, ///< a term is a preset that has no definition: it counts as nothing
  bad_infix,      ///< a `)` without `(`: PAPI crashes
  undefined,      ///< PAPI leaves the paths of C
  note_tail,      ///< text after a note is neither a note nor a term
  blank_field,    ///< a field of blanks ends the row early
  table_ended,    ///< 7.3: a line that is neither CPU nor PRESET ends the reading
  wrong_type      ///< CPU,name,number with another number: the rows are not for this CPU
};

struct Met {
  What what;
  Place place;
  std::string preset; ///< the row's preset, as written
  std::string text;   ///< the word concerned
  Place other;        ///< see What
};

struct Reading {
  std::string_view cpu;
  int type = -1;
  const NativeLookup* known = nullptr;
  PapiVersion version = PapiVersion::v7_0;
  const Document* user = nullptr;
  std::function<void(const Met&)> met = nullptr; ///< may be empty
};

[[nodiscard]] LoadedTable load(const Document& table, const Reading& reading);

} // namespace recount::preset
