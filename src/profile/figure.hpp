// The figure of a profile: samples by address, with the bounds of functions.
#pragma once

#include "plot/figure.hpp"
#include "plot/sheet.hpp"

namespace recount::figure {

/// The functions with most samples side by side in the order of their addresses, without the gaps. Throws
/// Error (bad_input) where there is no function with known bounds.
[[nodiscard]] Sheet compose_over_addresses(const result::Results& results, const Choice& choice);

/// The figure "profile".
[[nodiscard]] Figure profile_figure();

} // namespace recount::figure
