// Samples a target until it ends or is stopped.
#pragma once

#include "profile/data_objects.hpp"
#include "profile/event_request.hpp"
#include "profile/files.hpp"
#include "profile/places.hpp"
#include "profile/target.hpp"

#include <recount/sampling.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::profile {

struct RecordSettings {
  std::vector<EventRequest> events;
  TargetOptions who;
  bool chains = false;
  unsigned frames = 0;            ///< of a chain; 0: as many as the kernel allows
  std::size_t buffer = 0;         ///< bytes of each ring; 0: as fits
  std::string section = {};       ///< a model simulates only this one; empty: everything
  std::string from = {}, to = {}; ///< and only between these functions, see trace::FunctionRange
  bool objects = false;           ///< of a model: by data object
  std::int64_t sample_every = 0;  ///< a model simulates one of so many windows of accesses; 0: all
  std::string debug_path = {};    ///< for these objects
};

/// The recorded samples.
struct Recording {
  std::vector<SampledEvent> events;
  Places places;
  Files files;
  SamplingReport report;
  std::string not_counted;        ///< why 0 samples do not mean 0 occurrences; empty: they do
  std::vector<std::string> notes; ///< notes for the reader, full sentences
  double seconds = 0;             ///< wall time of the recording
  process::Exit exit = {};        ///< of the command
  DataObjects objects = {};
  std::vector<std::string> sampled = {}; ///< of a sampled simulation: share and error of each event
};

/// Records from the start of the target to its end (see Target::over()). Throws as Target and Sampling do,
/// and Error (bad_input) for a variable that the program does not have.
[[nodiscard]] Recording record(const RecordSettings& settings);

/// A note if most call chains have one frame, as without frame pointers; else, and with few samples, empty.
/// Pure.
[[nodiscard]] std::string missing_frame_pointers(const Places& places);

/// Whether this user may sample in the kernel, too.
[[nodiscard]] bool may_sample_kernel();

} // namespace recount::profile
