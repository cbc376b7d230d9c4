// What a process has mapped already, from /proc/PID/maps (proc(5)).
#include "base/text.hpp"
#include "perf/record.hpp"

#include <fmt/core.h>

#include <sys/mman.h>

namespace recount {

void existing_mappings(pid_t pid, const Sampling::Sink& sink, bool data) {
  const auto maps = base::read_file(fmt::format("/proc/{}/maps", pid));
  if (!maps) return;
  for (const std::string_view line : base::split(*maps, '\n')) {
    auto mapping = perf::parse_maps_line(line);
    if (!mapping || (!data && (mapping->protection & PROT_EXEC) == 0)) continue;
    mapping->pid = mapping->tid = static_cast<std::uint32_t>(pid);
    sink(*mapping);
  }
}

} // namespace recount
