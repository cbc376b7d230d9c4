// Placement of data in virtual and physical memory, drawn for each run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace recount::model {

/// How the data of a run are placed: see recount-machines(5), "Draws".
struct Placement {
  static constexpr unsigned most_run = 9; ///< 2^9 pages of 4 KiB are a huge page
  bool contiguous = false;                ///< physical addresses are the virtual ones
  std::optional<unsigned> run = {};       ///< log2 of the pages in a contiguous run; none: drawn from 0 to 9
  std::int64_t page = 4096;               ///< bytes of the pages that the system maps
  std::uint64_t draw = 0;                 ///< number of the draw
  bool mixed = false;                     ///< some arrays are in huge pages
  std::int64_t huge_page = std::int64_t{2} << 20; ///< bytes of those
};

/// The options that "pages" can mean: the fix where one of them is given by that name.
inline constexpr const char* page_options = "--pagesize small|huge: page size of the data; "
                                            "model:NAME~placement=PLACEMENT: their place in physical memory";

/// "contiguous", "random", "any", "mixed", or the pages of a run: a power of two up to 512. Nothing
/// for other words.
[[nodiscard]] std::optional<Placement> parse_placement(std::string_view text);

/// Physical addresses of one draw: a permutation of runs of pages.
class PhysicalPages {
public:
  explicit PhysicalPages(const Placement& placement);

  [[nodiscard]] std::uint64_t operator()(std::uint64_t address) const {
    if (huge(address)) [[unlikely]]
      return place(address, huge_shift_, huge_mask_) | std::uint64_t{1} << mixed_bits;
    return place(address, shift_, mask_);
  }
  /// Whether the address is in a huge page, of a mixed placement.
  [[nodiscard]] bool huge(std::uint64_t address) const {
    return arrays_ != 0 && address >> address_bits == 0 &&
           (arrays_ >> (address >> array_shift & 63) & 1) != 0;
  }

  static constexpr unsigned address_bits = 60; ///< the page table begins at 2^60
  static constexpr unsigned array_shift = 41;  ///< arrays are 2^41 apart

private:
  static constexpr unsigned mixed_bits = 59; ///< small pages below 2^59, huge ones from there on

  [[nodiscard]] std::uint64_t place(std::uint64_t address, unsigned shift, std::uint64_t mask) const {
    constexpr unsigned half = 20;
    std::uint64_t run = (address >> shift & mask) + key_;
    run = (run & mask) * 0xbf58476d1ce4e5b9u & mask;
    run = (run ^ run >> half) * 0x94d049bb133111ebu & mask;
    run ^= run >> half;
    return (address & ~(mask << shift)) | run << shift;
  }

  std::uint64_t mask_, key_, huge_mask_ = 0;
  unsigned shift_, huge_shift_ = 0;
  std::uint64_t arrays_ = 0; ///< a bit for each array number, modulo 64
};

/// Base of array number `array`: the `assumed` one without a placement, else that plus 2^41 times the number
/// plus a drawn number of pages.
[[nodiscard]] std::uint64_t array_base(const std::optional<Placement>& placement, std::uint64_t assumed,
                                       unsigned array);

} // namespace recount::model
