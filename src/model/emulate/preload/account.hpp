// Accounting for what the calling thread executes: in this process or, under the Valgrind tool, by the server
// of counts.
#pragma once

#include "model/emulate/accounting.hpp"
#include "model/trace/protocol.h"

#include <cstdint>

namespace recount::emulate {

/// A client request to the tool. False: the program does not run under the tool.
bool request(unsigned kind, long a = 0, long b = 0, long c = 0);

/// Whether the program runs under the tool, so that the server counts what it executes.
[[nodiscard]] bool exact();

/// During its lifetime, nothing that the calling thread executes is counted for the program.
class Pause {
public:
  Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause();
};

/// The calling thread has executed this in user mode.
void account_work(const Work& work);
/// The overhead of a libc call on events.
void account_call();
/// The event of the slot samples, or its period has changed: threads under the tool request new countdowns.
void announce_samples(std::int32_t slot);
/// Takes the samples that are due for the calling thread, which a signal has interrupted at `context`.
void take_due_samples(void* context);
/// The calling thread has executed a program.
void begin_program(bool set_user_id);

} // namespace recount::emulate
