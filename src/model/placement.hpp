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
};

/// "contiguous", "random", "any", "huge", or the pages of a run: a power of two up to 512. Nothing for other
/// words.
[[nodiscard]] std::optional<Placement> parse_placement(std::string_view text);

/// Physical addresses of one draw: a permutation of runs of pages.
class PhysicalPages {
public:
  explicit PhysicalPages(const Placement& placement);

  [[nodiscard]] std::uint64_t operator()(std::uint64_t address) const {
    constexpr unsigned half = 20;
    std::uint64_t run = (address >> shift_ & mask_) + key_;
    run = (run & mask_) * 0xbf58476d1ce4e5b9u & mask_;
    run = (run ^ run >> half) * 0x94d049bb133111ebu & mask_;
    run ^= run >> half;
    return (address & ~(mask_ << shift_)) | run << shift_;
  }

private:
  std::uint64_t mask_, key_;
  unsigned shift_;
};

/// Base of array number `array`: the `assumed` one without a placement, else that plus 2^41 times the number
/// plus a drawn number of pages.
[[nodiscard]] std::uint64_t array_base(const std::optional<Placement>& placement, std::uint64_t assumed,
                                       unsigned array);

} // namespace recount::model
