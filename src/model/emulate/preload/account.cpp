#include "model/emulate/preload/account.hpp"

#include "model/emulate/preload/sample.hpp"
#include "model/emulate/preload/user_page.hpp"
#include "model/emulate/real.hpp"
#include "model/emulate/settings.hpp"

#include <cstdint>
#include <ctime>
#include <sched.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace recount::emulate {

bool exact() {
  static const bool answered = settings().exact && request(RT_ASK) != 0;
  return answered;
}

namespace {

std::uint64_t thread_ns() {
  timespec t{};
  real::syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, reinterpret_cast<long>(&t));
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

/// The process and its ancestors. In a forked child, the memory still holds the lineage of its parent.
const Lineage& lineage_of(pid_t process) {
  static Lineage lineage = read_lineage(process);
  if (!lineage.empty() && lineage.front().tid == process) return lineage;
  Lineage own{{process}};
  own.insert(own.end(), lineage.begin(), lineage.end());
  lineage = std::move(own);
  return lineage;
}

Executor& executor() {
  thread_local Executor self;
  self.lineage = lineage_of(real::getpid());
  self.tid = real::gettid();
  self.cpu = sched_getcpu();
  return self;
}

/// Updates the mapped pages and takes the samples of this process.
class OwnEvents : public Observer {
public:
  void changed(const Slot& slot, std::int32_t index, bool scheduled) override {
    update_page(slot, index, scheduled);
  }
  void sample(Shared& shared, Slot& slot, std::int32_t index) override {
    overflows_.take(shared, slot, index);
  }
  void deliver() override { overflows_.deliver(); }

private:
  Overflows overflows_;
};

void account_own(Executor& self, const Effect* user, const Effect* kernel) {
  OwnEvents events;
  account(self, thread_ns(), user, kernel, events);
}

/// Updates the pages and takes due samples after the server has added counts.
void follow_server(void* context) {
  const auto tid = real::gettid();
  Overflows overflows;
  {
    const Locked shared;
    for (std::int32_t i = 0; i < shared->end; ++i) {
      Slot& slot = shared->slots[i];
      if (!slot.used || !slot.simulated) continue;
      if (find_page(i) != nullptr) update_page(slot, i, slot.unscheduled_ns == 0);
      if (std::exchange(slot.due, slot.due == tid ? 0 : slot.due) == tid) overflows.take(*shared, slot, i);
    }
  }
  overflows.deliver(context);
}

/// Has the server add what the thread has executed.
void account_by_server() {
  while (request(RT_SYNC, real::gettid(), sched_getcpu(), static_cast<long>(thread_ns())) == 0)
    real::syscall(SYS_sched_yield);
  follow_server(nullptr);
}

/// Work of the calling thread since its last accounting, estimated from its CPU time.
Work executed_by_rate(const Executor& self) {
  const std::uint64_t now = thread_ns();
  const double seconds = self.last_ns == 0 ? 0 : 1e-9 * static_cast<double>(now - self.last_ns);
  Work work = settings().machine.background;
  add(work, settings().machine.per_second, seconds);
  return work;
}

} // namespace

void account_work(const Work& work) {
  Executor& self = executor();
  const Effect effect(work, self);
  const double calls = work[Quantity::system_calls];
  if (calls == 0) return account_own(self, &effect, nullptr);
  Work by_kernel;
  add(by_kernel, settings().machine.kernel_background, calls);
  const Effect kernel(by_kernel);
  account_own(self, &effect, &kernel);
}

void account_call() {
  if (exact()) return account_by_server();
  static const Effect kernel(settings().machine.kernel_background);
  Executor& self = executor();
  const Effect user(settings().rates ? executed_by_rate(self) : settings().machine.background, self);
  account_own(self, &user, &kernel);
}

void announce_samples(std::int32_t slot) {
  if (!exact()) return;
  unsigned countdowns = 0;
  {
    const Locked shared;
    const Slot& sampled = shared->slots[slot];
    if (!sampled.simulated || sampled.period == 0) return;
    countdowns = 1U << make_pace(sampled).countdown;
  }
  request(RT_SAMPLED, countdowns);
}

void take_due_samples(void* context) {
  sampled_at = static_cast<std::uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  follow_server(context);
  sampled_at = 0;
}

// With the server, not even for the launcher of Valgrind, which runs outside the tool: the server has not yet
// counted what the process executed before.
void begin_program(bool set_user_id) {
  if (!settings().exact) begin_program(real::gettid(), set_user_id);
}

} // namespace recount::emulate
