// When a thread under the Valgrind tool is to ask for samples.
#pragma once

#include "emulate/accounting.hpp"
#include "trace/reader.hpp"

namespace recount::emulate {

/// What an event may count at most by what the tool can count down.
struct Pace {
  unsigned countdown = RT_COUNT_INSTRUCTIONS; ///< instructions of this kind
  double most = 0;    ///< occurrences at each of them, and none at others; 0: it counts nothing
  bool exact = false; ///< its samples are due at the very occurrence; else within `skid` instructions
};
/// Of the slot's event, which the formula of its machine decides.
[[nodiscard]] Pace pace_of(const Slot& slot);

/// Events of caches, TLBs and time are looked at after so many instructions, or a 128th of their period if
/// that is more.
inline constexpr double skid = 1000, skid_share = 1.0 / 128;

/// Of a thread, after it has been accounted for; under the lock of the slots. Samples that are due count as
/// taken.
[[nodiscard]] trace::Countdown countdown_of(const Executor& executor);

} // namespace recount::emulate
