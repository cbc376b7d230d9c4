// What the calling thread has executed, brought to account by this process or by the server of counts.
#pragma once

#include "emulate/accounting.hpp"

namespace recount::emulate {

/// The calling thread has executed this in user mode.
void account_work(const Work& work);
/// What the call of a function of libc about events executes around itself.
void account_call();
/// The calling thread has executed a program.
void begin_program(bool set_user_id);

} // namespace recount::emulate
