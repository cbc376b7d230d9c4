// The simulated processor as the program sees it: signals that its instructions raise, CPUID, features.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>

namespace recount::emulate {

/// True: the signal was the simulation's, and is answered.
using Answer = bool (*)(siginfo_t* info, void* context);

/// From now on the signal goes to `answer` first, whatever the program does with sigaction(2).
void keep_signal(int number, Answer answer);
/// What the program asks for; false: the signal is not kept, and Linux decides.
bool kept_action(int number, const struct sigaction* now, struct sigaction* before);

/// Replaces each `cpuid` of the loaded libpfm4 by an invalid instruction, and answers the signal. Its file
/// stays as it is. Under the Valgrind tool, which answers every one, it does nothing.
void answer_cpuid();
/// Makes the program believe that the processor lacks the features that the simulated one lacks.
void hide_features();

struct Symbol {
  unsigned char* at = nullptr; ///< where it is in memory; nullptr: there is none
  std::size_t bytes = 0;
};
[[nodiscard]] Symbol program_symbol(const std::string& name);

/// What a library that contains this one adds to it.
struct Additions {
  void (*begin)() = nullptr;                                 ///< before main()
  void (*executable)(void* at, std::size_t bytes) = nullptr; ///< code is about to become executable
};
extern Additions additions;

} // namespace recount::emulate
