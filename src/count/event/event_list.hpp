// Lists events: the tables of libpfm4 and the events of sysfs.
#pragma once

#include "base/host/pmu.hpp"
#include "count/event/pfm.hpp"

#include <recount/event.hpp>
#include <recount/reason.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::event {

/// A PMU of the kernel or an event table of libpfm4.
struct Source {
  std::string name, prose;      ///< "msr" or "skl"
  bool sysfs = false;           ///< a PMU in this kernel's sysfs, else a table of libpfm4
  bool on_this_machine = false; ///< of this CPU or kernel: searched unless a PMU is requested
  Reason reason; ///< why (some of) its events cannot be counted on this machine; empty: nothing known
  std::size_t events = 0;
};

struct ListedEvent {
  std::string name; ///< accepted by encode(): "skl::L1D", "msr/tsc/"
  std::string pmu, prose;
  std::string equivalent;                 ///< the event of which this is an alias, or empty
  std::vector<pfm::Attribute> attributes; ///< unit masks, then modifiers
  std::optional<Event> event;             ///< the encoding; none if a unit mask or a value is required
  /// Why it cannot be counted here, by sysfs and its event class. Empty: open the event to find out.
  Reason reason;
};

struct Search {
  std::string pattern; ///< see Pattern; matches names and descriptions, a glob names only
  std::string pmu;     ///< name of a PMU or table, or a glob; empty: all of this machine
};

/// All sources, those of this machine first.
[[nodiscard]] std::vector<Source> sources(const std::vector<host::Pmu>& pmus);

/// The matching events by source. If only unit masks of an event match, it is listed with these. Throws Error
/// (bad_input) with the nearest names when `pmu` names nothing.
[[nodiscard]] std::vector<ListedEvent> list(const Search& search, const std::vector<host::Pmu>& pmus);

} // namespace recount::event
