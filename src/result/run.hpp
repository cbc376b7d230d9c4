// The header of a run: machine, software and command of the observations with its id.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace recount::result {

/// What the first line of every results file declares.
inline constexpr const char* schema = "recount-results/1";

/// A data or unified cache as the system states it; kept with the results so that figures can mark it.
struct CacheNote {
  std::string level;     ///< "L1d", "L2", "L3"
  std::int64_t size = 0; ///< bytes
  std::int64_t line = 0; ///< bytes; 0: not stated
  std::int64_t ways = 0; ///< 0: not stated; -1: fully associative
  bool operator==(const CacheNote&) const = default;
};

/// One execution of `recount sweep` (or of a study): the machine and software behind its observations.
struct Run {
  std::string id;                ///< unique over machines and time; every line of the run carries it
  std::string started;           ///< UTC, ISO 8601: "2026-11-21T06:13:25Z"
  std::string host;              ///< node name
  std::string cpu;               ///< model name
  std::int64_t cpus = 0;         ///< logical CPUs online
  std::vector<CacheNote> caches; ///< of the measured CPU, innermost first
  std::string governor;          ///< cpufreq governor; empty: none stated
  std::string os;                ///< "Linux 6.1.0-18-amd64 x86_64"
  std::string virtualised;       ///< hypervisor's name; empty: none seen
  std::map<std::string, std::string> versions; ///< "recount", "papi", ...; job_fields (result/job_fields.hpp)
  std::vector<std::string> command;            ///< the command line, word by word
  std::uint64_t seed = 0;                      ///< of the shuffled order
  /// What was planned, setting by setting in canonical text ("kernel", "--size", "witness", "metric",
  /// "repeat", ...): a sweep resumes only a file whose plan is its own.
  std::map<std::string, std::string> plan;
  /// Runs of the whole plan, and where they are not too many their repetitions by name (planned_name()), so
  /// that an incomplete file can tell what is missing.
  std::int64_t runs_planned = 0; ///< 0: not stated
  std::map<std::string, std::int64_t> planned;
  /// Presets that were asked for by the formulas of their rows: "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS".
  std::map<std::string, std::string> presets;
  /// Presets and events that did not agree in recount check on this machine, and why: "dead on this machine".
  std::map<std::string, std::string> verdicts;
  std::map<std::string, std::string> skipped; ///< parts not run ("papi", "Java"), and why
  std::string resumes;                        ///< id of the run that this one continues; empty: none
};

/// Whether a run holds the readings of a cache inference (recount caches), which are not points of a sweep.
[[nodiscard]] bool is_inference(const Run& run);

/// A new id and the present time; everything else is left empty. Ids do not repeat: time, process and 32
/// random bits.
[[nodiscard]] Run new_run();

} // namespace recount::result
