// Accounting for what the calling thread executes: in this process or, under the Valgrind tool, by the server
// of counts.
#pragma once

#include "model/emulate/accounting.hpp"
#include "model/trace/request.hpp"

#include <cstdint>

namespace recount::emulate {

using trace::Pause;
using trace::request;

/// Whether the program runs under the tool, so that the server counts what it executes.
[[nodiscard]] bool exact();

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
