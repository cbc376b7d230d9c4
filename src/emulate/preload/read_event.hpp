// read(2) of events.
#pragma once

#include "emulate/slot.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace recount::emulate {

/// What Linux has read of the backing events, turned into what the simulated ones have counted. Returns the
/// bytes to be returned.
[[nodiscard]] ssize_t translate(std::int32_t slot, void* data, ssize_t bytes);

/// The same words of a simulated event of this thread without a call, for a sample that reads.
void append_read(const Shared& shared, const Slot& slot, std::uint64_t format,
                 std::vector<std::uint64_t>& words);

} // namespace recount::emulate
