// Sampling a target from its start to its end, or until somebody says stop.
#pragma once

#include "profile/asked.hpp"
#include "profile/files.hpp"
#include "profile/places.hpp"
#include "profile/target.hpp"

#include <recount/sampling.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::profile {

struct RecordSettings {
  std::vector<Asked> events;
  Who who;
  bool chains = false;
  unsigned frames = 0;    ///< of a chain; 0: as many as the kernel allows
  std::size_t buffer = 0; ///< bytes of each ring; 0: as fits
};

/// What was seen.
struct Recording {
  std::vector<SampledEvent> events;
  Places places;
  Files files;
  SamplingReport report;
  std::string not_counted;        ///< why 0 samples are not 0 occurrences; empty: they are
  std::vector<std::string> notes; ///< what a reader must know, whole sentences
  double seconds = 0;             ///< wall time from the start to the end of looking
  int status = 0;                 ///< of the command, as a shell tells it
};

/// Looks from the start of the target to its end (see Target::over()). Throws as Target and Sampling do, and
/// Error (bad_input) for a variable that the program does not have.
[[nodiscard]] Recording record(const RecordSettings& settings);

/// Where most call chains have one frame, as without frame pointers: what to do; else, and with few samples,
/// empty. Pure.
[[nodiscard]] std::string missing_frame_pointers(const Places& places);

/// Whether this user may sample in the kernel, too.
[[nodiscard]] bool may_sample_kernel();

} // namespace recount::profile
