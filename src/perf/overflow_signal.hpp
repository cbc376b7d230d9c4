// Overflow by a signal of the counting thread (fcntl(2): O_ASYNC, F_SETSIG, F_SETOWN_EX).
#pragma once

#include "perf/overflow_calls.hpp"
#include "perf/overflow_engine.hpp"
#include "perf/owner.hpp"
#include "perf/sample_ids.hpp"
#include "perf/sample_open.hpp"
#include "process/fd.hpp"

#include <cstdint>
#include <sys/ucontext.h>
#include <vector>

namespace recount::perf {

// The user-mode program counter at an interrupt.
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

class SignalOverflow : public OverflowEngine {
public:
  explicit SignalOverflow(OverflowPlan plan);
  SignalOverflow(const SignalOverflow&) = delete;
  SignalOverflow& operator=(const SignalOverflow&) = delete;
  ~SignalOverflow() override;

  void start() override;
  void stop() override;
  void set_threshold(std::size_t event, std::uint64_t threshold) override;
  std::vector<OverflowCount> counts() override;
  std::uint64_t missed() override;

  // For the handler; async-signal-safe.
  [[nodiscard]] bool concerns(int fd) const noexcept; ///< -1: any descriptor
  void handle(ucontext_t* context) noexcept;

private:
  struct Looked { ///< an emulated event
    std::size_t event;
    process::Fd fd;
    Ticks ticks;
    [[nodiscard]] std::uint64_t count() const noexcept;
  };
  void open_emulated();
  void arm() const;
  void each_fd(unsigned long request) const noexcept;
  void take(const Placed& placed, const Sample& sample);

  OverflowPlan plan_;
  OpenSampling open_;
  std::vector<Looked> looked_;
  SampleIds ids_;
  OverflowCalls calls_;
  Decoded decoded_;
  pid_t tid_;
  Owner owner_;
  const ucontext_t* context_ = nullptr; ///< while the handler runs
  bool running_ = false;
};

/// Installs the handler of a signal and registers the object for the calling thread, whose handlers alone use
/// it: they cannot run while the thread itself destroys the object. Throws Error (bad_input) when the signal
/// has another handler already, unavailable when there are too many.
void serve(SignalOverflow& overflow, int signal);
void forget(SignalOverflow& overflow) noexcept;

} // namespace recount::perf
