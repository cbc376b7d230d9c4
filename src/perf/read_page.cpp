#include "perf/read_page.hpp"

namespace recount {

std::optional<PageReading> read_page(const perf_event_mmap_page& page, const Registers& registers) noexcept {
  PageReading reading{};
  const bool usable = perf::read_page_by(
      page, [&](std::uint32_t index) { return registers.counter(registers.context, index); },
      [&] { return registers.clock(registers.context); }, reading);
  return usable ? std::optional(reading) : std::nullopt;
}

} // namespace recount
