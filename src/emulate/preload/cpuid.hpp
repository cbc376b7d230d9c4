// The processor as libpfm4 sees it: its CPUID instructions are answered with the simulated machine.
#pragma once

namespace recount::emulate {

/// Replaces each `cpuid` of the loaded libpfm4 by an invalid instruction, and answers the signal. Its file
/// stays as it is.
void answer_cpuid();
/// Makes the program believe that the processor lacks the features that the simulated one lacks.
void hide_features();

} // namespace recount::emulate
