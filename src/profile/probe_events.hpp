// Probes on functions as events.
#pragma once

#include "profile/sites.hpp"
#include "profile/tracefs.hpp"

#include <recount/event.hpp>

#include <list>
#include <optional>
#include <string>

namespace recount::profile {

/// Events that occur at the entry or the return of a function. The destructor removes them; this object
/// must outlive the opened events. Uses tracefs where available; then new threads and processes of the target
/// are followed. Else by the kernel's own "uprobe" PMU, which must not be inherited: until at
/// least Linux 6.18, it looks for the file's name in the memory of a task that forks, and the fork fails.
class ProbeEvents {
public:
  /// Throws Error (unavailable) if neither is available.
  ProbeEvents();
  [[nodiscard]] bool inheritable() const noexcept { return tracefs_.has_value(); }
  /// Before the instruction at an offset of the site's file; `on_return`: after the function that begins
  /// there has returned, by replacing its return address.
  [[nodiscard]] Event at(const Site& site, std::uint64_t offset, bool on_return);

private:
  std::optional<Tracefs> tracefs_;
  std::uint32_t pmu_ = 0;
  std::list<std::string> paths_; ///< the kernel reads them when an event is opened
};

} // namespace recount::profile
