// Counts events per call of selected functions, in an unmodified program.
#pragma once

#include "commands/profile/calls.hpp"
#include "commands/profile/recording.hpp"
#include "show/command/output.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::profile {

struct FunctionSettings {
  /// "NAME" is looked up in the program, else in its libraries; "LIBRARY:NAME" in the library whose file name
  /// begins with LIBRARY. NAME is as in symbol::Module::functions().
  std::vector<std::string> names;
  std::vector<std::string> counters; ///< events that are read at each hit; may be empty
  TargetOptions who;
  bool returns = true;    ///< false: count calls only, without changes to the program's stack
  bool uretprobe = false; ///< trace returns by uretprobes where possible
  std::string debug_path;
};

/// Overhead of the probes of one function, measured on an empty function: the lower bound of its times.
struct ProbeCost {
  Histogram wall;                  ///< ns from entry to return, due to the probes
  std::vector<Histogram> counters; ///< likewise of each counter
  double call_ns = 0;              ///< additional processor time per call
};
/// Values below this may be due to the probes alone: 1.5 times the median, or what 9 of 10 calls of an empty
/// function do not exceed.
[[nodiscard]] std::uint64_t probe_limit(const Histogram& cost);

struct FunctionCalls {
  std::string name, module;
  Calls seen;                         ///< from the records
  std::uint64_t calls = 0;            ///< by a kernel counter: exact even if records are lost
  std::optional<ProbeCost> cost = {}; ///< none: it could not be measured
  bool returns = false;               ///< returns are traced, too
  bool replaced = false;              ///< its return address is replaced
  bool requested = false;             ///< replaced by request; else because its exits are unknown
};

struct FunctionRecording {
  std::vector<std::string> counters;
  std::vector<FunctionCalls> functions;
  std::vector<std::string> notes; ///< limitations of the counts, full sentences
  bool complete = true;           ///< no record was lost
  std::uint64_t reader_ns = 0;    ///< processor time of reading
  double seconds = 0;
  process::Exit exit = {}; ///< of the command
};

/// Inserts probes into the functions, runs the target, and removes them. A new command is stopped at its
/// entry point during insertion; a running process is not. Throws as Target and Sampling do, and Error:
/// bad_input for a name without a match, with the nearest, and for more than 64 matches; unavailable if this
/// user may not place probes.
[[nodiscard]] FunctionRecording record_functions(const FunctionSettings& settings);

/// The representative instruction for the class of the first one of `code`, and its inverse. Pure.
[[nodiscard]] std::span<const unsigned char> calibration_body(std::span<const unsigned char> code);

// The calls of functions as tables for people and as JSON.

/// One for each function with completed calls.
[[nodiscard]] std::vector<show::Table> function_tables(const FunctionRecording& recording);
/// `subject`: the command or the process.
[[nodiscard]] std::string functions_text(const FunctionRecording& recording, const std::string& subject);
[[nodiscard]] std::string functions_json(const FunctionRecording& recording, const std::string& subject);

} // namespace recount::profile
