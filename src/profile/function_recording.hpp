// Counting what chosen functions do, call by call, in a program that was not built for it.
#pragma once

#include "profile/calls.hpp"
#include "profile/sites.hpp"
#include "profile/target.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::profile {

struct FunctionSettings {
  std::vector<std::string> names;    ///< see find_sites()
  std::vector<std::string> counters; ///< events that are read at each hit; may be empty
  Who who;
  bool returns = true;    ///< false: calls are counted, and nothing is changed on the program's stack
  bool uretprobe = false; ///< ends are watched by replaced return addresses wherever that may be done
  std::string debug_path;
};

/// What the probes of one function cost, measured on a function that does nothing: the floor of its times.
struct ProbeCost {
  Spread wall;                  ///< ns from entry to return that the probes alone make
  std::vector<Spread> counters; ///< likewise of each counter
  double call_ns = 0;           ///< processor time that a call takes longer
};
/// Below this a value may be the probes' alone: 1.5 times the median, or what 9 of 10 calls that did nothing
/// stayed below.
[[nodiscard]] std::uint64_t probe_limit(const Spread& cost);

/// One function.
struct FunctionSeen {
  std::string name, module;
  Calls seen;                         ///< from the records
  std::uint64_t calls = 0;            ///< by the kernel's own counter: exact whatever becomes of the records
  std::optional<ProbeCost> cost = {}; ///< none: it could not be measured
  bool returns = false;               ///< its ends are watched as well
  bool replaced = false;              ///< by its return address
  bool asked = false;                 ///< which was asked for; else the exits cannot be told from its code
};

struct FunctionRecording {
  std::vector<std::string> counters;
  std::vector<FunctionSeen> functions;
  std::vector<std::string> notes; ///< what casts doubt on the counts, whole sentences
  bool complete = true;           ///< no record was lost
  std::uint64_t reader_ns = 0;    ///< processor time of reading
  double seconds = 0;
  int status = 0; ///< of the command, as a shell tells it
};

/// Puts probes into the functions, lets the target run, and takes them out again. A new command is stopped at
/// its entry point meanwhile; a process is not. Throws as Target, find_sites() and Sampling do, and Error
/// (unavailable) where this user may place no probes.
[[nodiscard]] FunctionRecording record_functions(const FunctionSettings& settings);

} // namespace recount::profile
