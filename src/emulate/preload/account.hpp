// What the calling thread has executed, brought to account by this process or, at its request to the Valgrind
// tool that executes it, by the server of counts.
#pragma once

#include "emulate/accounting.hpp"
#include "trace/protocol.h"

#include <cstdint>

namespace recount::emulate {

/// False: no such tool executes this program.
bool request(unsigned kind, long a = 0, long b = 0, long c = 0);

/// Whether the tool reports what this program executes, so that the server counts it.
[[nodiscard]] bool exact();

/// During its life, what the calling thread executes is not the program's.
class Pause {
public:
  Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause();
};

/// The calling thread has executed this in user mode.
void account_work(const Work& work);
/// What the call of a function of libc about events executes around itself.
void account_call();
/// The slot's event samples, or its next sample is another one: threads that the tool executes ask for it.
void announce_samples(std::int32_t slot);
/// A sample is due for the calling thread, which a signal has interrupted in the context.
void take_due_samples(void* context);
/// The calling thread has executed a program.
void begin_program(bool set_user_id);

} // namespace recount::emulate
