// The processor as libpfm4 sees it: its CPUID instructions are answered with the simulated machine.
#pragma once

namespace pmu {

/// Replaces each `cpuid` of the loaded libpfm4 by an invalid instruction, and answers the signal. Its file
/// stays as it is.
void answer_cpuid();

} // namespace pmu
