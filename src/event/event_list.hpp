// Lists events: the tables of libpfm4 and the events of sysfs.
#pragma once

#include "event/pfm.hpp"
#include "host/pmu.hpp"

#include <recount/event.hpp>
#include <recount/reason.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::event {

/// A PMU or table that events come from.
struct Source {
  std::string name, prose; ///< "msr" or "skl"
  bool sysfs = false;      ///< events of this kernel's sysfs, else a table of libpfm4
  bool here = false;       ///< of this CPU or this kernel: searched unless a PMU is requested
  Reason reason; ///< why (some of) its events cannot be counted on this machine; empty: nothing known
  std::size_t events = 0;
};

/// One event with its description.
struct Listed {
  std::string name; ///< as encode() takes it: "skl::L1D", "msr/tsc/"
  std::string pmu, prose;
  std::string equivalent;                 ///< the event that it is another name of, or empty
  std::vector<pfm::Attribute> attributes; ///< unit masks, then modifiers
  std::optional<Event> event;             ///< its encoding; none where it needs a unit mask to have one
  Reason
      reason; ///< why it cannot be counted here, as far as sysfs and its class show; empty: open it to know
};

struct Search {
  std::string pattern; ///< see Pattern; matched against names and descriptions, a glob against names alone
  std::string pmu;     ///< name of the PMU or table, or a glob; empty: all that are of this machine
};

/// All sources, those of this machine first.
[[nodiscard]] std::vector<Source> sources(const std::vector<host::Pmu>& pmus);

/// The events found, source by source. Where the event itself does not match but some of its unit masks do,
/// these alone are listed with it. Throws Error (bad_input) with the nearest names when `pmu` names nothing.
[[nodiscard]] std::vector<Listed> list(const Search& search, const std::vector<host::Pmu>& pmus);

} // namespace recount::event
