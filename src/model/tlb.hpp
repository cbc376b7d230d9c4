// Data TLBs: which pages can be translated without a walk.
#pragma once

#include "model/level.hpp"

#include <vector>

namespace recount::model {

/// Any number of levels; a translation found in one is taken into those before it. Not thread-safe.
class Tlb {
public:
  Tlb(const TlbDescription& description, std::uint64_t seed); ///< of its first level

  /// True when some level knows the page. Afterwards all do: the caller walks on false. Accesses to the first
  /// level are not counted here.
  bool translate(std::uint64_t page, Cause cause) {
    return levels.front().use(page, false) || beyond_first(page, cause);
  }
  /// As of Level.
  void save(std::vector<std::uint64_t>& words) const;
  [[nodiscard]] bool same(std::span<const std::uint64_t>& words) const;
  void restore(std::span<const std::uint64_t>& words);
  void clear();
  [[nodiscard]] unsigned page_shift() const { return page_shift_; }

  std::vector<Level> levels;
  std::vector<Level> walk; ///< as TlbDescription::walk

private:
  bool beyond_first(std::uint64_t page, Cause cause);
  unsigned page_shift_;
};

} // namespace recount::model
