#include "model/placement.hpp"

#include "base/format.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <bit>

namespace recount::model {

namespace {

constexpr unsigned small_page_shift = 12;

/// The generator of a draw.
std::uint64_t generator(std::uint64_t draw) {
  return draw << 32;
}

unsigned run_shift(const Placement& placement) {
  std::uint64_t state = generator(placement.draw);
  const unsigned run = placement.run
                           ? *placement.run
                           : static_cast<unsigned>(base::random_below(state, Placement::most_run + 1));
  return std::max(small_page_shift + run,
                  static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(placement.page))));
}

} // namespace

std::optional<Placement> parse_placement(std::string_view text) {
  Placement placement;
  placement.mixed = text == "mixed";
  if (text == "any" || placement.mixed) return placement;
  placement.contiguous = text == "contiguous";
  placement.run = 0;
  if (placement.contiguous || text == "random") return placement;
  const auto pages = base::parse<std::uint64_t>(text).value_or(0);
  if (!std::has_single_bit(pages) || pages > std::uint64_t{1} << Placement::most_run) return {};
  placement.run = static_cast<unsigned>(std::countr_zero(pages));
  return placement;
}

PhysicalPages::PhysicalPages(const Placement& placement) : shift_(run_shift(placement)) {
  const unsigned bits = placement.mixed ? mixed_bits : address_bits;
  mask_ = (std::uint64_t{1} << (bits - shift_)) - 1;
  std::uint64_t state = generator(placement.draw);
  base::next_random(state); // the length of a run
  key_ = base::next_random(state);
  if (!placement.mixed) return;
  arrays_ = base::next_random(state);
  huge_shift_ = static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(placement.huge_page)));
  huge_mask_ = (std::uint64_t{1} << (bits - huge_shift_)) - 1;
}

std::uint64_t array_base(const std::optional<Placement>& placement, std::uint64_t assumed, unsigned array) {
  if (!placement) return assumed;
  constexpr unsigned pages_shift = 32;
  std::uint64_t state = generator(placement->draw) + 2 + array;
  const std::uint64_t pages = (std::uint64_t{1} << pages_shift) / static_cast<std::uint64_t>(placement->page);
  return assumed + (std::uint64_t{array} << PhysicalPages::array_shift) +
         base::random_below(state, pages) * static_cast<std::uint64_t>(placement->page);
}

} // namespace recount::model
