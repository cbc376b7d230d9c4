// The user-mode program counter at an interrupt.
#pragma once

#include <cstdint>
#include <sys/ucontext.h>

namespace recount::perf {

#if defined(__x86_64__)
inline constexpr std::uint64_t pc_register = std::uint64_t{1} << 8; ///< PERF_REG_X86_IP in asm/perf_regs.h
inline std::uint64_t program_counter(const ucontext_t& context) {
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}
#elif defined(__aarch64__)
inline constexpr std::uint64_t pc_register = std::uint64_t{1} << 32; ///< PERF_REG_ARM64_PC
inline std::uint64_t program_counter(const ucontext_t& context) {
  return context.uc_mcontext.pc;
}
#else
inline constexpr std::uint64_t pc_register = 0; ///< unknown: the address of the sample is used
inline std::uint64_t program_counter(const ucontext_t&) {
  return 0;
}
#endif

} // namespace recount::perf
