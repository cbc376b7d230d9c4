#include "profile/probe_events.hpp"

#include "base/text.hpp"
#include "host/permission.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

namespace recount::profile {

ProbeEvents::ProbeEvents() {
  const host::Permission may = host::permission();
  if (!may.cap_perfmon && !may.cap_sys_admin)
    throw unavailable(
        "--function", "this user may not place probes in programs",
        "CAP_PERFMON, or CAP_SYS_ADMIN before Linux 5.8, is missing",
        "run as root; or setcap cap_perfmon+ep on recount (sudo setcap cap_perfmon+ep $(which recount))");
  try {
    tracefs_.emplace();
  } catch (const Error&) {
    const auto type = base::read_number("/sys/bus/event_source/devices/uprobe/type");
    if (!type) throw;
    pmu_ = static_cast<std::uint32_t>(*type);
  }
}

Event ProbeEvents::at(const Site& site, std::uint64_t offset, bool on_return) {
  Event event;
  event.name = fmt::format("{}{}", site.function.name, on_return ? " return" : "");
  event.pmu = "uprobe";
  event.attr.size = sizeof event.attr;
  if (tracefs_) {
    event.attr.type = PERF_TYPE_TRACEPOINT;
    event.attr.config = tracefs_->define(site.file, offset, on_return);
    return event;
  }
  event.attr.type = pmu_;
  event.attr.config = on_return ? 1 : 0; // /sys/bus/event_source/devices/uprobe/format/retprobe
  event.attr.uprobe_path = reinterpret_cast<std::uintptr_t>(
      paths_.emplace_back(fmt::format("/proc/self/fd/{}", site.file)).c_str());
  event.attr.probe_offset = offset;
  return event;
}

} // namespace recount::profile
