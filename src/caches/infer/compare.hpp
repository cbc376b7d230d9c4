// Compares found with stated caches. The inference itself has no access to stated values.
#pragma once

#include "caches/infer/inference.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::caches {

/// The stated values of one level; 0: not stated.
struct StatedLevel {
  std::string name; ///< "L1d"
  std::int64_t size = 0, line = 0;
  std::int64_t ways = 0; ///< -1: fully associative
  int shared_by = 1;     ///< hardware threads
};

/// The stated caches of a machine, and their source.
struct StatedCaches {
  std::string source; ///< "hwloc", "machine i7-9700"
  std::vector<StatedLevel> levels;
  std::string hypervisor; ///< of the machine that was looked at; empty: none seen
  std::string otherwise;  ///< sources that differ, and their values; empty: none
};

/// Fills in stated, stated_by, agreement and remark of every property; nothing else is touched.
void compare(Caches& found, const StatedCaches& stated);

/// The full argument: one paragraph for each property, with the comparison with the stated value.
struct Paragraph {
  std::string title; ///< "L1d capacity: 48 KiB"
  std::string text;
};
[[nodiscard]] std::vector<Paragraph> justification(const Caches& found);

/// A value with its unit: "48 KiB", "12", "1.28 ns", "about 10 MiB".
[[nodiscard]] std::string value_text(const Property& property);
/// "L1d", "L3 (effective)".
[[nodiscard]] std::string level_text(const LevelFinding& level);
/// The signs that others used a part of the level; empty: none.
[[nodiscard]] std::string shared_use_text(const LevelFinding& level);
[[nodiscard]] std::string ways_text(const Property& ways); ///< "8 ways"
[[nodiscard]] std::string stated_text(const Property& property);

} // namespace recount::caches
