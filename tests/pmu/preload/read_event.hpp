// read(2) of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace pmu {

/// What Linux has read of the backing events, turned into what the simulated ones have counted. Returns the
/// bytes to be returned.
[[nodiscard]] ssize_t translate(std::int32_t slot, void* data, ssize_t bytes);

/// Total of the slot, given what its backing event has counted (nanoseconds of CPU time).
[[nodiscard]] std::uint64_t value_of(std::int32_t slot, std::uint64_t backing_ns);

} // namespace pmu
