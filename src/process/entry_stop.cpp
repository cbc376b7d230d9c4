#include "process/entry_stop.hpp"

#include "base/text.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

namespace recount::process {
namespace {
#if defined(__x86_64__)
constexpr bool entry_is_known = true;
constexpr std::uint64_t trap = 0xcc, trap_mask = 0xff; // int3
using Registers_ = user_regs_struct;
std::uint64_t counter_of(const Registers_& r) {
  return r.rip;
}
/// Past the one byte of int3.
void set_counter(Registers_& r, std::uint64_t to) {
  r.rip = to;
}
constexpr std::uint64_t past_trap = 1;
#elif defined(__aarch64__)
constexpr bool entry_is_known = true;
constexpr std::uint64_t trap = 0xd4200000, trap_mask = 0xffffffff; // brk #0
using Registers_ = user_regs_struct;
std::uint64_t counter_of(const Registers_& r) {
  return r.pc;
}
void set_counter(Registers_& r, std::uint64_t to) {
  r.pc = to;
}
constexpr std::uint64_t past_trap = 0;
#else
constexpr bool entry_is_known = false;
constexpr std::uint64_t trap = 0, trap_mask = 0, past_trap = 0;
struct Registers_ {};
std::uint64_t counter_of(const Registers_&) {
  return 0;
}
void set_counter(Registers_&, std::uint64_t) {}
#endif

/// Where the program begins, as the kernel told it (getauxval(3)); 0: unknown.
std::uint64_t entry_of(pid_t pid) {
  const auto vector = base::read_file(fmt::format("/proc/{}/auxv", pid)).value_or("");
  for (std::size_t at = 0; at + 2 * sizeof(std::uint64_t) <= vector.size(); at += 2 * sizeof(std::uint64_t)) {
    std::uint64_t pair[2];
    std::memcpy(pair, vector.data() + at, sizeof pair);
    if (pair[0] == AT_ENTRY) return pair[1];
  }
  return 0;
}

bool poke(pid_t pid, std::uint64_t address, std::uint64_t word) {
  return ::ptrace(PTRACE_POKETEXT, pid, address, word) == 0;
}

/// Waits for the next stop; the signal that made it, 0 when the process ended (which stays to be waited for).
int next_stop(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOWAIT) != 0) {
    if (errno != EINTR) return 0;
  }
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return 0;
  int status = 0;
  return ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/// Puts back what the trap covers, and the program counter onto it.
bool take_away(pid_t pid, std::uint64_t entry, std::uint64_t word) {
  Registers_ registers{};
  iovec where{&registers, sizeof registers};
  if (!poke(pid, entry, word) || ::ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &where) != 0) return false;
  if (counter_of(registers) != entry + past_trap) return false;
  set_counter(registers, entry);
  return ::ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &where) == 0;
}
} // namespace

bool stopped_after_exec(pid_t pid) {
  return next_stop(pid) == SIGTRAP;
}

bool run_to_entry(pid_t pid, std::uint64_t past) {
  const std::uint64_t known = entry_is_known ? entry_of(pid) : 0, entry = known + past;
  errno = 0;
  const auto word = static_cast<std::uint64_t>(::ptrace(PTRACE_PEEKTEXT, pid, entry, nullptr));
  if (known == 0 || errno != 0 || !poke(pid, entry, (word & ~trap_mask) | trap)) return false;
  for (int signal = 0;;) {
    if (::ptrace(PTRACE_CONT, pid, nullptr, signal) != 0) return false;
    signal = next_stop(pid);
    if (signal == 0) return false;
    if (signal == SIGTRAP) return take_away(pid, entry, word);
  }
}

} // namespace recount::process
