// A preset as its row defines it, in ordinary arithmetic: what PAPI should compute. (load() gives what it
// does compute.)
#pragma once

#include "preset/preset_table.hpp"

#include <recount/preset.hpp>

#include <functional>
#include <memory>
#include <string>
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

/// The definition in force, as its row in `table` (or in `user`, which may be null) says it.
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

} // namespace recount::preset
