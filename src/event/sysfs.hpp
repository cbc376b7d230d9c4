// Events in the terms of sysfs: "PMU/term,term=value/".
#pragma once

#include "host/pmu.hpp"

#include <recount/event.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::event {

/// The PMUs of this kernel, read once. Thread-safe.
[[nodiscard]] const std::vector<host::Pmu>& pmus();

/// Whether a name is in this notation at all: a word, a slash, terms, a slash.
[[nodiscard]] bool in_sysfs_notation(const std::string& name);

/// Whether the PMU counts user and kernel apart, so that a domain means something to it. Others (msr, uncore)
/// refuse every exclude_* bit with EINVAL.
[[nodiscard]] bool tells_domains(const host::Pmu& pmu);

/// Encodes "PMU/terms/" or "PMU/terms/:u" over the given PMUs. A term is the name of an event of the PMU (a
/// file in events/), one of its formats with a value (1 when none is given), or config, config1, config2.
/// Later terms replace the bits of earlier ones. Throws Error (bad_input) with the nearest names. Pure.
[[nodiscard]] Event encode_sysfs(const std::string& name, Domain fallback,
                                 const std::vector<host::Pmu>& pmus);

} // namespace recount::event
