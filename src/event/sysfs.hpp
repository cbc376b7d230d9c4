// Events in the terms of sysfs: "PMU/term,term=value/".
#pragma once

#include "host/pmu.hpp"

#include <recount/event.hpp>

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::event {

/// The PMUs of this kernel, read once. Thread-safe.
[[nodiscard]] const std::vector<host::Pmu>& pmus();

/// Whether a name is in this notation at all: a word, a slash, terms, a slash.
[[nodiscard]] bool in_sysfs_notation(const std::string& name);

/// Whether the PMU counts user and kernel apart, so that a domain means something to it. Others (msr, uncore)
/// refuse every exclude_* bit with EINVAL.
[[nodiscard]] bool separates_domains(const host::Pmu& pmu);

/// Encodes "PMU/terms/" or "PMU/terms/:u" over the given PMUs. A term is the name of an event of the PMU (a
/// file in events/), one of its formats with a value (1 when none is given), or config, config1, config2.
/// Later terms replace the bits of earlier ones. Throws Error (bad_input) with the nearest names. Pure.
[[nodiscard]] Event encode_sysfs(const std::string& name, Domain fallback,
                                 const std::vector<host::Pmu>& pmus);

// The format files of sysfs: which bits of perf_event_attr a term fills.

/// Bits of one configuration word, e.g. "config:0-7,32-35": the low 8 bits of a value, then the next 4.
struct Format {
  struct Range {
    unsigned first, last; ///< bits, inclusive
  };
  unsigned word = 0; ///< 0: config, 1: config1, 2: config2
  std::vector<Range> ranges;
  [[nodiscard]] unsigned width() const; ///< bits in all
};

/// Parses a format file (Documentation/ABI/testing/sysfs-bus-event_source-devices-format of Linux). `subject`
/// names the term in errors. Throws Error: bad_input when malformed, unavailable for a word that the
/// perf_event_attr of this build does not have. Pure.
[[nodiscard]] Format parse_format(std::string_view text, const std::string& subject);

/// Stores a value in its bits. Throws Error (bad_input) when it has too many bits.
void store(const Format& format, std::uint64_t value, perf_event_attr& attr, const std::string& subject);

} // namespace recount::event
