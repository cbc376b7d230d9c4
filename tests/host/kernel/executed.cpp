#include "executed.hpp"

#include "decoded.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <stdexcept>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using recount::kernel::Region;
using recount::kernel::Tally;

#if defined(__x86_64__) && defined(HAVE_ZYDIS)

namespace {

/// A stopped child that steps; killed when it goes.
class Stepped {
public:
  explicit Stepped(const Region& region) : pid_(fork()) {
    if (pid_ == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1); // the parent would wait for ever
      raise(SIGSTOP);
      region();
      _exit(0);
    }
    wait();
  }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;
  ~Stepped() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void step() {
    if (ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0)
      throw std::runtime_error(std::strerror(errno));
    wait();
  }
  [[nodiscard]] user_regs_struct registers() const {
    user_regs_struct all{};
    ptrace(PTRACE_GETREGS, pid_, nullptr, &all);
    return all;
  }

private:
  void wait() const {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status))
      throw std::runtime_error("the region ended while it was stepped through");
    if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
      throw std::runtime_error(std::string("the region got ") + strsignal(WSTOPSIG(status)));
  }
  pid_t pid_;
};

} // namespace

std::string cannot_step() {
  try {
    const Stepped child({[](void*) {}, nullptr});
    return {};
  } catch (const std::exception&) {
    return "ptrace(2) is not allowed here";
  }
}

Tally executed(const Region& region) {
  Stepped child(region);
  const auto entry = reinterpret_cast<unsigned long>(region.code);
  user_regs_struct at = child.registers();
  for (; at.rip != entry; at = child.registers())
    child.step();
  const unsigned long stack = at.rsp;
  std::map<unsigned long, Decoded> known; // parent and child share the code
  Tally sum;
  for (; at.rsp <= stack; at = child.registers()) {
    auto found = known.find(at.rip);
    if (found == known.end())
      found = known.emplace(at.rip, decode(reinterpret_cast<const unsigned char*>(at.rip))).first;
    sum = sum + found->second.tally;
    if (found->second.condition >= 0 && holds(found->second.condition, at.eflags)) sum.taken += 1;
    child.step();
  }
  return sum;
}

#else

std::string cannot_step() {
  return "stepping through regions is written for x86-64 and takes the Zydis decoder (libzydis-dev)";
}

Tally executed(const Region&) {
  return {};
}

#endif
