// Encoding for a given set of PMUs, independent of this machine.
#pragma once

#include "host/pmu.hpp"

#include <recount/event.hpp>

#include <string>
#include <vector>

namespace recount::event {

/// As recount::encode() and recount::encode_each(), over these PMUs instead of the kernel's.
[[nodiscard]] Event encode_over(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus);
[[nodiscard]] std::vector<Event> encode_each_over(const std::string& name, Domain fallback,
                                                  const std::vector<host::Pmu>& pmus);

/// The nearest names to one that libpfm4 does not know, with their tables: events when the event is
/// unknown, unit masks and modifiers when only these are. `pmus` adds the events of sysfs.
[[nodiscard]] std::vector<std::string> suggestions(const std::string& name,
                                                   const std::vector<host::Pmu>& pmus);

} // namespace recount::event
