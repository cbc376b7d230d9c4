// The requested events of a profile, with period or frequency.
#pragma once

#include <recount/sampling.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::profile {

/// One word of -e: "EVENT", "EVENT:period=N" or "EVENT:freq=F".
struct EventRequest {
  std::string name;                        ///< of the event, without period and frequency
  std::uint64_t period = 0, frequency = 0; ///< both 0: default of the event
};

/// Splits lists at commas that no "PMU/.../" encloses and reads each word. Throws Error (bad_input).
[[nodiscard]] std::vector<EventRequest> parse_event_requests(const std::vector<std::string>& lists);

/// A data breakpoint on a variable by its name, "mem:NAME[+OFFSET][/LENGTH][:rw]": its name, and the words
/// around it. Nothing if the event is something else, or its address is a number.
struct Watched {
  std::string variable;
  std::uint64_t offset = 0;
  std::string rest; ///< "/8:w"
};
[[nodiscard]] std::optional<Watched> watched_variable(const std::string& event);

/// The event, on a hybrid CPU one for each core type that has it, ready to be sampled; `fallback` where its
/// name gives no domain. Without period and frequency, every occurrence of software events and breakpoints,
/// and 1000 samples per second of clocks and of hardware events. Throws Error.
[[nodiscard]] std::vector<SampledEvent> sampled(const EventRequest& asked, Domain fallback);

/// Whether a sample of this event reports the instruction after the one that caused it: data breakpoints are
/// traps.
[[nodiscard]] bool reports_next_instruction(const Event& event);
/// Whether its occurrences are nanoseconds.
[[nodiscard]] bool is_clock(const Event& event);

/// Its address in the process now: of the variable of that name in its program, else in a library that it has
/// mapped. Throws Error (bad_input): there is none, or several differ; `event` names it in the message.
[[nodiscard]] std::uint64_t address_of(const Watched& watched, const std::string& event, pid_t pid);

} // namespace recount::profile
