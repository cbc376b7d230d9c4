// Data TLBs: which pages can be translated without a walk.
#pragma once

#include "model/level.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace recount::model {

/// Any number of levels; a translation found in one is taken into those before it. Not thread-safe.
class Tlb {
public:
  /// `seed`: of its first level. `mixed`: translate_huge() is called, too.
  Tlb(const TlbDescription& description, std::uint64_t seed, bool mixed = false);

  /// True if some level holds the page. Afterwards all do: the caller walks on false. Accesses to the first
  /// level are not counted here.
  bool translate(std::uint64_t page, Cause cause) { return is_newest(page) || translate_older(page, cause); }
  /// Whether the page was the last used in its group of sets of the first level, so that to use it again
  /// changes nothing; from now on it is. With mixed pages there is one group, of page numbers of small pages.
  [[gnu::always_inline]] bool is_newest(std::uint64_t page) {
    return std::exchange(newest_[page & newest_mask_], page) == page;
  }
  /// translate() of a page that was not is_newest().
  bool translate_older(std::uint64_t page, Cause cause) {
    return wide_ ? translate_wide(page, cause) : levels.front().use(page, false) || beyond_first(page, cause);
  }
  /// Whether each level is Level::wide_lru().
  [[nodiscard]] bool wide() const { return wide_; }
  [[nodiscard]] bool mixed() const { return mixed_; }
  /// translate_older() of a huge page. If these have fewer levels, it misses in the remaining ones, too.
  bool translate_huge(std::uint64_t page, Cause cause);
  [[nodiscard]] unsigned huge_shift() const { return huge_shift_; }
  /// Levels of the page table that huge pages do not have.
  [[nodiscard]] unsigned fewer_tables() const { return (huge_shift_ - page_shift_) / 9; }
  /// Entries of this and the huge page's level that are empty.
  [[nodiscard]] std::int64_t vacant(std::size_t level) const;
  /// As Level::save().
  void save(std::vector<std::uint64_t>& words) const;
  void clear();
  /// Exchanges the contents, not the counts.
  void swap_contents(Tlb& other);
  [[nodiscard]] unsigned page_shift() const { return page_shift_; }

  std::vector<Level> levels;
  std::vector<Level> walk; ///< as TlbDescription::walk
  std::vector<Level> huge; ///< for huge pages, of mixed ones; the counts are those of `levels`
  static constexpr std::array parts{&Tlb::levels, &Tlb::walk, &Tlb::huge};

private:
  bool beyond_first(std::uint64_t page, Cause cause);
  bool translate_wide(std::uint64_t page, Cause cause);
  /// How huge pages are kept in a level that holds small ones, too.
  struct Shared {
    SetIndex small, huge;
    /// A number in place of the page number, greater than any of a small page, that has the set of the page.
    [[nodiscard]] std::uint64_t operator()(std::uint64_t page) const {
      constexpr std::uint64_t high = std::uint64_t{1} << 60; // masks select lower bits
      if (!small.invertible()) return page | high;           // the functions are the same
      const std::uint64_t apart = high / small.sets() + 1;
      return small.line_of(huge(page), page / small.sets() + apart);
    }
  };
  unsigned page_shift_, huge_shift_;
  bool mixed_;
  bool wide_; ///< one size of pages, and all levels are wide_lru()
  static constexpr std::uint64_t no_page = ~std::uint64_t{0};
  std::array<std::uint64_t, 64> newest_;      ///< by group of sets of the first level: the page used last
  std::uint64_t newest_mask_ = 0;             ///< pages of one set are in one group
  std::vector<std::optional<Shared>> shared_; ///< by level of huge pages; none: in `huge`
};

} // namespace recount::model
