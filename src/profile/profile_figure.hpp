// The figure of a profile: samples by address, with the bounds of functions.
#pragma once

#include "plot/sheet.hpp"

namespace recount::profile {

/// The functions with most samples side by side in the order of their addresses, without the gaps. Throws
/// Error (bad_input) where there is no function with known bounds.
[[nodiscard]] plot::Sheet compose_over_addresses(const result::Results& results, const plot::Choice& choice);

/// The figure "profile".
[[nodiscard]] plot::Figure profile_figure();

} // namespace recount::profile
