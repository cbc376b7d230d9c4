// Signals that the simulation answers first; what the program wants of them comes after.
#pragma once

#include <csignal>

namespace recount::emulate {

/// True: the signal was the simulation's, and is answered.
using Answer = bool (*)(siginfo_t* info, void* context);

/// From now on the signal goes to `answer` first, whatever the program does with sigaction(2).
void keep_signal(int number, Answer answer);
/// What the program asks for; false: the signal is not kept, and Linux decides.
bool kept_action(int number, const struct sigaction* now, struct sigaction* before);

} // namespace recount::emulate
