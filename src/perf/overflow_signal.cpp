// Overflow by a signal of the counting thread (fcntl(2): O_ASYNC, F_SETSIG, F_SETOWN_EX).
#include "perf/errno_hints.hpp"
#include "perf/overflow_engine.hpp"
#include "perf/sample_open.hpp"
#include "process/fd.hpp"
#include "process/signals.hpp"

#include <recount/error.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/ucontext.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace recount::perf {
namespace {

class SignalOverflow : public OverflowEngine {
public:
  explicit SignalOverflow(OverflowPlan plan);
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
  struct Polled { ///< an emulated event
    std::size_t event;
    process::Fd fd;
    Ticks ticks;
    [[nodiscard]] std::uint64_t count() const noexcept;
  };
  void open_emulated();
  void arm() const;
  void each_fd(unsigned long request) const noexcept;
  void take(const Placed& placed, const Sample& sample);

  OpenSampling open_;
  std::vector<Polled> polled_;
  SampleIds ids_;
  Decoded decoded_;
  pid_t tid_;
  const ucontext_t* context_ = nullptr; ///< while the handler runs
  bool running_ = false;
};

/// An object and the thread that made it. A handler may run at any time, in any thread, so there is no lock:
/// it looks at the objects of its own thread only, since others may be destroyed meanwhile. Slots are used
/// again and never freed: as many as there were objects at one time.
struct Served {
  std::atomic<pid_t> tid = 0; ///< 0: free
  std::atomic<SignalOverflow*> overflow = nullptr;
  Served* next = nullptr; ///< never changes once it is in the list
};
std::atomic<Served*> served = nullptr;

void handle_overflow(int, siginfo_t* info, void* context) {
  const int before = errno;
  // Where the queue of signals is full the kernel sends a plain SIGIO, which names no descriptor.
  const bool named = info->si_code == POLL_IN || info->si_code == POLL_HUP;
  const pid_t tid = gettid();
  for (Served* slot = served.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    if (slot->tid.load(std::memory_order_acquire) != tid) continue;
    SignalOverflow* const overflow = slot->overflow.load(std::memory_order_acquire);
    if (overflow != nullptr && overflow->concerns(named ? info->si_fd : -1))
      overflow->handle(static_cast<ucontext_t*>(context));
  }
  errno = before;
}

bool is_own_handler(const struct sigaction& now) {
  return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle_overflow;
}

bool is_default(const struct sigaction& now) {
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

/// Stays installed to the end: the default action for a pending signal would kill the process.
bool install(int number) {
  struct sigaction action {};
  action.sa_sigaction = handle_overflow;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask); // no other handler in between: the counters are stopped meanwhile
  return sigaction(number, &action, nullptr) == 0;
}

/// Installs the handler of a signal and registers the object for the calling thread, whose handlers alone use
/// it: they cannot run while the thread itself destroys the object. Throws Error (bad_input) when the signal
/// has another handler already.
void serve(SignalOverflow& overflow, int number) {
  struct sigaction now {};
  const bool known = sigaction(number, nullptr, &now) == 0;
  if (known && !is_own_handler(now) && !is_default(now))
    throw bad_input(fmt::format("signal {}", number), "already has a handler installed by the program",
                    "set OverflowOptions::signal to another one, SIGRTMIN to SIGRTMAX");
  if (!known || (!is_own_handler(now) && !install(number)))
    throw bad_input(fmt::format("signal {}", number), "cannot be handled",
                    "use one from SIGRTMIN to SIGRTMAX");
  sigaction(SIGIO, nullptr, &now);
  if (is_default(now)) install(SIGIO);
  for (Served* slot = served.load(); slot != nullptr; slot = slot->next) {
    pid_t nobody = 0;
    if (!slot->tid.compare_exchange_strong(nobody, gettid())) continue;
    slot->overflow.store(&overflow, std::memory_order_release);
    return;
  }
  auto* const slot = new Served{gettid(), &overflow, served.load()};
  while (!served.compare_exchange_weak(slot->next, slot)) {
  }
}

void forget(SignalOverflow& overflow) noexcept {
  for (Served* slot = served.load(); slot != nullptr; slot = slot->next) {
    SignalOverflow* this_one = &overflow;
    if (slot->overflow.compare_exchange_strong(this_one, nullptr))
      slot->tid.store(0, std::memory_order_release);
  }
}

/// The events that interrupt, and after them the timer when there is something to emulate.
OpenSampling open_own(const OverflowPlan& plan) {
  std::vector<SampledEvent> events;
  for (const std::size_t i : plan.interrupting)
    events.push_back({plan.events[i].event, plan.events[i].threshold, 0, 0});
  if (!plan.emulated.empty()) events.push_back(overflow_timer(plan));
  SamplingOptions options;
  options.buffer = 64U << 10; // a handler that is not held up for long takes every record at once
  return open_sampling(std::move(events), options);
}

std::uint64_t SignalOverflow::Polled::count() const noexcept {
  std::uint64_t value = 0;
  return ::read(fd.get(), &value, sizeof value) == sizeof value ? value : 0;
}

SignalOverflow::SignalOverflow(OverflowPlan plan)
    : OverflowEngine(std::move(plan)), open_(open_own(plan_)), ids_(open_), tid_(gettid()) {
  open_emulated();
  serve(*this, plan_.options.signal != 0 ? plan_.options.signal : SIGRTMIN + 6);
  try {
    arm();
  } catch (...) {
    forget(*this);
    throw;
  }
}

SignalOverflow::~SignalOverflow() {
  running_ = false; // a last handler must not start the events again
  if (owner_.here()) each_fd(PERF_EVENT_IOC_DISABLE);
  forget(*this);
}

void SignalOverflow::open_emulated() {
  for (const std::size_t i : plan_.emulated) {
    const OverflowEvent& requested = plan_.events[i];
    if (!requested.event.present) throw absent_error(requested.event);
    perf_event_attr attr = requested.event.attr;
    attr.disabled = 1;
    Attempt attempt = open_sized(attr, {});
    if (!attempt.fd) throw open_error(requested.event, attempt.error);
    polled_.push_back({i, std::move(attempt.fd), Ticks(requested.threshold)});
  }
}

void SignalOverflow::arm() const {
  const f_owner_ex owner{F_OWNER_TID, tid_};
  const int number = plan_.options.signal != 0 ? plan_.options.signal : SIGRTMIN + 6;
  for (const auto& fd : open_.contexts.front().fds) {
    const int flags = fcntl(fd.get(), F_GETFL);
    if (fcntl(fd.get(), F_SETOWN_EX, &owner) != 0 || fcntl(fd.get(), F_SETSIG, number) != 0 ||
        fcntl(fd.get(), F_SETFL, flags | O_ASYNC | O_NONBLOCK) != 0)
      throw unavailable("overflow", std::string("its signal cannot be set up: ") + std::strerror(errno));
  }
}

void SignalOverflow::each_fd(unsigned long request) const noexcept {
  for (const auto& fd : open_.contexts.front().fds)
    ioctl(fd.get(), request, 0);
  for (const Polled& polled : polled_)
    ioctl(polled.fd.get(), request, 0);
}

void SignalOverflow::start() {
  calls_.mute(false);
  running_ = true;
  each_fd(PERF_EVENT_IOC_ENABLE);
}

void SignalOverflow::stop() {
  running_ = false;
  each_fd(PERF_EVENT_IOC_DISABLE); // pending overflows are signalled before this returns, unless blocked
  if (context_ != nullptr) return calls_.mute(true); // called by the callback
  const process::SignalsBlocked blocked;
  ucontext_t context;
  getcontext(&context);
  handle(&context); // what a blocked signal would report later
}

bool SignalOverflow::concerns(int fd) const noexcept {
  if (fd < 0) return true;
  for (const auto& own : open_.contexts.front().fds)
    if (own.get() == fd) return true;
  return false;
}

void SignalOverflow::handle(ucontext_t* context) noexcept {
  if (running_) each_fd(PERF_EVENT_IOC_DISABLE); // exclude the callback from the counts
  calls_.set_context(context);
  context_ = context;
  Ring& ring = *open_.rings.front().ring;
  ring.look();
  for (auto words = ring.records().front(); !words.empty(); words = ring.records().front()) {
    const Placed* placed = ids_.find(id_of(words));
    const bool good = placed != nullptr && decode(words, open_.format, decoded_) == Understood::yes;
    if (const auto* sample = good ? std::get_if<Sample>(&decoded_.record) : nullptr) take(*placed, *sample);
    ring.records().drop();
    ring.release();
  }
  calls_.flush();
  calls_.set_context(nullptr);
  context_ = nullptr;
  if (running_) each_fd(PERF_EVENT_IOC_ENABLE);
}

void SignalOverflow::take(const Placed& placed, const Sample& sample) {
  if (placed.event < plan_.interrupting.size()) return calls_.add(plan_.interrupting[placed.event], sample);
  Sample where = sample;
  if (sample.mode != Mode::user) where.ip = program_counter(*context_);
  for (Polled& polled : polled_) {
    Overflowed passed = polled.ticks.at(polled.count());
    passed.event = polled.event;
    if (passed.times > 0) calls_.add(passed, where);
  }
  calls_.flush(); // the next look is another call
}

void SignalOverflow::set_threshold(std::size_t event, std::uint64_t threshold) {
  const process::SignalsBlocked blocked; // the handler reads what is changed here
  plan_.events[event].threshold = threshold;
  for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
    if (plan_.interrupting[i] == event) return set_period(open_, i, threshold);
  for (Polled& polled : polled_)
    if (polled.event == event) polled.ticks.change(threshold, polled.count());
}

std::vector<OverflowCount> SignalOverflow::counts() {
  std::vector<SampledCount> sampled(open_.events.size());
  read_counts(open_, sampled);
  std::vector<OverflowCount> out(plan_.events.size());
  for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
    out[plan_.interrupting[i]].occurrences = sampled[i].occurrences;
  for (const Polled& polled : polled_)
    out[polled.event].occurrences = polled.count();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].overflows = calls_.reported()[i];
  return out;
}

std::uint64_t SignalOverflow::missed() {
  std::vector<SampledCount> sampled(open_.events.size());
  read_counts(open_, sampled);
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
    lost += sampled[i].lost.value_or(0);
  return lost;
}

} // namespace

std::unique_ptr<OverflowEngine> deliver_by_signal(OverflowPlan plan) {
  return std::make_unique<SignalOverflow>(std::move(plan));
}

} // namespace recount::perf
