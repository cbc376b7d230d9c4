// Which releases of PAPI cannot read user events.
#pragma once

#include "../../skip.hpp"

#include <papi.h>

namespace recount::test {

/// Skips. PAPI 7.2.0 uses the code of a user event as an index of the presets and crashes on every file of
/// user events (fixed in December 2025: "framework: remove unnecessary bit masking").
inline bool no_user_events() {
  const int version = PAPI_get_opt(PAPI_LIB_VERSION, nullptr);
  const bool broken = version >= PAPI_VERSION_NUMBER(7, 2, 0, 0) && version < PAPI_VERSION_NUMBER(7, 3, 0, 0);
  if (broken) skip("PAPI 7.2 crashes on every file of user events");
  return broken;
}

} // namespace recount::test
