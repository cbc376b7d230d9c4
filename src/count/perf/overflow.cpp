// Overflow, delivered by a thread or by a signal.
#include "count/perf/overflow_engine.hpp"

#include "base/process/fd.hpp"
#include "base/process/signals.hpp"
#include "count/perf/errno_hints.hpp"
#include "count/perf/sample_open.hpp"
#include "count/perf/try_open.hpp"

#include <recount/error.hpp>
#include <recount/overflow.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/core.h>
#include <map>
#include <mutex>
#include <optional>
#include <sys/ioctl.h>
#include <sys/ucontext.h>
#include <system_error>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace recount::perf {

Overflowed Ticks::at(std::uint64_t count) noexcept {
  if (count < base_) base_ = 0;
  const std::uint64_t times = (count - base_) / threshold_;
  base_ += times * threshold_;
  return {0, times, count - base_};
}

void Ticks::change(std::uint64_t threshold, std::uint64_t count) noexcept {
  threshold_ = threshold;
  base_ = count;
}

void OverflowCalls::begin(const Sample& sample, bool emulated) {
  call_.address = sample.ip;
  call_.data_address = sample.address;
  call_.emulated = emulated;
  call_.pid = sample.pid;
  call_.tid = sample.tid;
  call_.events = 0;
  gathered_ = 0;
}

void OverflowCalls::add(std::size_t event, const Sample& sample) {
  const std::uint64_t bit = std::uint64_t{1} << event;
  const bool same = gathered_ > 0 && !call_.emulated && call_.address == sample.ip &&
                    call_.tid == sample.tid && (call_.events & bit) == 0;
  if (!same) {
    flush();
    begin(sample, false);
  }
  call_.events |= bit;
  overflowed_[gathered_++] = {event, 1, 0};
}

void OverflowCalls::add(const Overflowed& emulated, const Sample& timer) {
  if (gathered_ > 0 && !call_.emulated) flush();
  if (gathered_ == 0) begin(timer, true);
  call_.events |= std::uint64_t{1} << emulated.event;
  overflowed_[gathered_++] = emulated;
}

void OverflowCalls::flush() {
  if (muted_) gathered_ = 0;
  if (gathered_ == 0) return;
  call_.overflowed = std::span(overflowed_).first(gathered_);
  for (const Overflowed& o : call_.overflowed)
    reported_[o.event] += o.times;
  gathered_ = 0; // first: the callback may come back here, by a signal in the thread's own delivery
  callback_(call_);
}

namespace {

/// The timer that polls emulated events: of the thread's processor time, in the kernel too where that is
/// allowed.
SampledEvent overflow_timer(const OverflowPlan& plan) {
  const auto period = std::chrono::nanoseconds(plan.options.interval).count();
  SampledEvent timer{encode("perf::CPU-CLOCK", Domain::all), static_cast<std::uint64_t>(period), 0, 0};
  perf_event_attr attr = timer.event.attr;
  attr.sample_period = timer.period;
  attr.disabled = 1;
  if (!open_sized(attr, {}).fd) timer.event = encode("perf::CPU-CLOCK", Domain::user);
  return timer;
}

// Delivery by a thread that reads the rings.

constexpr std::chrono::milliseconds look_every{5};

class ThreadOverflow : public OverflowEngine {
public:
  explicit ThreadOverflow(OverflowPlan plan) : OverflowEngine(std::move(plan)) {
    SamplingOptions options;
    options.pid = plan_.options.pid;
    options.inherit = plan_.options.inherit;
    std::vector<SampledEvent> emulated;
    if (!plan_.emulated.empty()) emulated.push_back(overflow_timer(plan_));
    for (const std::size_t i : plan_.emulated)
      emulated.push_back({plan_.events[i].event, 0, 0, 0});
    options.group = true;
    options.user_registers = pc_register;
    if (!emulated.empty()) timer_.emplace(std::move(emulated), options);
    options.group = false;
    options.user_registers = 0;
    std::vector<SampledEvent> interrupting;
    for (const std::size_t i : plan_.interrupting)
      interrupting.push_back({plan_.events[i].event, plan_.events[i].threshold, 0, 0});
    if (!interrupting.empty()) events_.emplace(std::move(interrupting), options);
  }
  ~ThreadOverflow() override {
    if (!owner_.here()) {
      // A forked child has neither the thread nor what it was doing: joining it would not end, destroying the
      // condition that it waits for would not either. Only the descriptors are closed.
      static_cast<void>(reader_.release());
      return;
    }
    const process::CancelBlocked uncancelled; // as in every destructor
    end();
    join();
  }

  void start() override {
    join(); // stopped by the callback
    const std::lock_guard lock(reader_->mutex);
    end_ = false;
    failure_ = nullptr;
    calls_.mute(false);
    if (timer_) timer_->start();
    if (events_) events_->start();
    if (reader_->thread.joinable()) return;
    const process::SignalsBlocked blocked; // inherited: the program's handlers run in its own threads
    try {
      reader_->thread = std::thread([this] { read(); });
    } catch (const std::system_error& error) {
      throw unavailable("overflow", std::string("no thread can be started: ") + error.what());
    }
  }

  void stop() override {
    {
      const std::lock_guard lock(reader_->mutex);
      if (events_) events_->stop();
      if (timer_) timer_->stop();
      if (reader_->thread.get_id() == std::this_thread::get_id()) calls_.mute(true); // called by the callback
    }
    end();
    join();
    if (reader_->thread.get_id() != std::this_thread::get_id() && failure_)
      std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void set_threshold(std::size_t event, std::uint64_t threshold) override {
    const std::lock_guard lock(reader_->mutex);
    plan_.events[event].threshold = threshold;
    for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
      if (plan_.interrupting[i] == event) events_->set_period(i, threshold);
    for (auto& [where, seen] : reader_->seen)
      for (std::size_t i = 0; i < plan_.emulated.size(); ++i)
        if (plan_.emulated[i] == event) seen[i].ticks.change(threshold, seen[i].last);
  }

  std::vector<OverflowCount> counts() override {
    const std::lock_guard lock(reader_->mutex);
    std::vector<OverflowCount> out(plan_.events.size());
    const auto fill = [&](Sampling& from, const std::vector<std::size_t>& which, std::size_t skip) {
      const auto report = from.report();
      for (std::size_t i = 0; i < which.size(); ++i)
        out[which[i]].occurrences = report.events[i + skip].occurrences;
    };
    if (events_) fill(*events_, plan_.interrupting, 0);
    if (timer_) fill(*timer_, plan_.emulated, 1);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i].overflows = calls_.reported()[i];
    return out;
  }

  std::uint64_t missed() override {
    const std::lock_guard lock(reader_->mutex);
    std::uint64_t lost = 0;
    if (!events_) return lost;
    for (const SampledCount& count : events_->report().events)
      lost += count.lost.value_or(0);
    return lost;
  }

private:
  /// An emulated event on one thread and CPU: a group's values are told for each apart.
  struct Seen {
    Ticks ticks;
    std::uint64_t last = 0;
  };

  void end() {
    const std::lock_guard lock(reader_->mutex);
    end_ = true;
    reader_->woken.notify_all();
  }

  void join() {
    if (reader_->thread.joinable() && reader_->thread.get_id() != std::this_thread::get_id())
      reader_->thread.join();
  }

  void read() {
    std::unique_lock lock(reader_->mutex);
    try {
      while (!end_) {
        take(&Sampling::read);
        reader_->woken.wait_for(lock, look_every, [this] { return end_; });
      }
      take(&Sampling::finish);
      take_rest();
    } catch (...) { // of the callback, or of a read that failed: stop() throws it
      failure_ = std::current_exception();
      calls_.mute(true);
    }
  }

  void take(void (Sampling::*how)(const Sampling::Sink&)) {
    if (events_) ((*events_).*how)([this](const Record& record) { take_event(record); });
    if (timer_) ((*timer_).*how)([this](const Record& record) { take_timer(record); });
    calls_.flush();
  }

  void take_event(const Record& record) {
    if (const auto* sample = std::get_if<Sample>(&record))
      calls_.add(plan_.interrupting[sample->event], *sample);
  }

  std::vector<Seen>& seen_on(std::uint32_t tid, std::uint32_t cpu) {
    auto& seen = plan_.options.inherit ? reader_->seen[{tid, cpu}] : reader_->seen[{0, 0}];
    for (std::size_t i = seen.size(); i < plan_.emulated.size(); ++i)
      seen.push_back({Ticks(plan_.events[plan_.emulated[i]].threshold), 0});
    return seen;
  }

  void look(std::size_t i, Seen& seen, std::uint64_t count, const Sample& where) {
    seen.last = count;
    Overflowed passed = seen.ticks.at(count);
    passed.event = plan_.emulated[i];
    if (passed.times > 0) calls_.add(passed, where);
  }

  /// What has occurred since the last interrupt of the timer: of one thread, whose share of the sum is known.
  void take_rest() {
    if (!timer_ || plan_.options.inherit) return;
    const auto counts = timer_->report().events;
    auto& seen = seen_on(0, 0);
    for (std::size_t i = 0; i < seen.size(); ++i)
      look(i, seen[i], counts[i + 1].occurrences, Sample{});
    calls_.flush();
  }

  void take_timer(const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample == nullptr || sample->values.empty()) return;
    Sample where = *sample;
    if (where.mode != Mode::user && !where.user_registers.empty()) where.ip = where.user_registers[0];
    auto& seen = seen_on(sample->tid, sample->cpu);
    for (std::size_t i = 0; i < seen.size(); ++i)
      look(i, seen[i], sample->values[i + 1], where);
    calls_.flush();
  }

  std::optional<Sampling> events_, timer_;
  /// What the reading thread uses, and the thread.
  struct Reader {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Seen>> seen;
    std::recursive_mutex mutex; // the callback may change a threshold
    std::condition_variable_any woken;
    std::thread thread;
  };
  std::unique_ptr<Reader> reader_ = std::make_unique<Reader>();
  std::exception_ptr failure_; ///< why the thread has ended before stop()
  bool end_ = false;
};

// Delivery by a signal of the counting thread (fcntl(2): O_ASYNC, F_SETSIG, F_SETOWN_EX).

class SignalOverflow;
void serve(SignalOverflow& overflow, int number);
void forget(SignalOverflow& overflow) noexcept;

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

class SignalOverflow : public OverflowEngine {
public:
  explicit SignalOverflow(OverflowPlan plan)
      : OverflowEngine(std::move(plan)), open_(open_own(plan_)), ids_(open_), tid_(gettid()) {
    const int number = plan_.options.signal != 0 ? plan_.options.signal : SIGRTMIN + 6;
    open_emulated();
    serve(*this, number);
    try {
      arm(number);
    } catch (...) {
      forget(*this);
      throw;
    }
  }
  ~SignalOverflow() override {
    running_ = false; // a last handler must not start the events again
    if (owner_.here()) each_fd(PERF_EVENT_IOC_DISABLE);
    forget(*this);
  }

  void start() override {
    calls_.mute(false);
    running_ = true;
    each_fd(PERF_EVENT_IOC_ENABLE);
  }
  void stop() override {
    running_ = false;
    each_fd(PERF_EVENT_IOC_DISABLE); // pending overflows are signalled before this returns, unless blocked
    if (context_ != nullptr) return calls_.mute(true); // called by the callback
    const process::SignalsBlocked blocked;
    ucontext_t context;
    getcontext(&context);
    handle(&context); // what a blocked signal would report later
    Sample last{};    // what has occurred since the last interrupt of the timer
    last.pid = static_cast<std::uint32_t>(::getpid());
    last.tid = static_cast<std::uint32_t>(tid_);
    calls_.set_context(&context);
    poll(last);
    calls_.set_context(nullptr);
  }
  void set_threshold(std::size_t event, std::uint64_t threshold) override {
    const process::SignalsBlocked blocked; // the handler reads what is changed here
    plan_.events[event].threshold = threshold;
    for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
      if (plan_.interrupting[i] == event) return set_period(open_, i, threshold);
    for (Polled& polled : polled_)
      if (polled.event == event) polled.ticks.change(threshold, polled.count());
  }
  std::vector<OverflowCount> counts() override {
    const auto sampled = read_sampled();
    std::vector<OverflowCount> out(plan_.events.size());
    for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
      out[plan_.interrupting[i]].occurrences = sampled[i].occurrences;
    for (const Polled& polled : polled_)
      out[polled.event].occurrences = polled.count();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i].overflows = calls_.reported()[i];
    return out;
  }
  std::uint64_t missed() override {
    const auto sampled = read_sampled();
    std::uint64_t lost = 0;
    for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
      lost += sampled[i].lost.value_or(0);
    return lost;
  }

  // For the handler; async-signal-safe.

  /// -1: any descriptor.
  [[nodiscard]] bool concerns(int fd) const noexcept {
    return fd < 0 || std::ranges::any_of(fds(), [fd](const process::Fd& own) { return own.get() == fd; });
  }
  void handle(ucontext_t* context) noexcept {
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

private:
  struct Polled { ///< an emulated event
    std::size_t event;
    process::Fd fd;
    Ticks ticks;
    [[nodiscard]] std::uint64_t count() const noexcept {
      std::uint64_t value = 0;
      return ::read(fd.get(), &value, sizeof value) == sizeof value ? value : 0;
    }
  };

  [[nodiscard]] const std::vector<process::Fd>& fds() const noexcept { return open_.contexts.front().fds; }
  void open_emulated() {
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
  void arm(int number) const {
    const f_owner_ex owner{F_OWNER_TID, tid_};
    for (const auto& fd : fds()) {
      const int flags = fcntl(fd.get(), F_GETFL);
      if (fcntl(fd.get(), F_SETOWN_EX, &owner) != 0 || fcntl(fd.get(), F_SETSIG, number) != 0 ||
          fcntl(fd.get(), F_SETFL, flags | O_ASYNC | O_NONBLOCK) != 0)
        throw unavailable("overflow", std::string("its signal cannot be set up: ") + std::strerror(errno));
    }
  }
  void each_fd(unsigned long request) const noexcept {
    for (const auto& fd : fds())
      ioctl(fd.get(), request, 0);
    for (const Polled& polled : polled_)
      ioctl(polled.fd.get(), request, 0);
  }
  void take(const Placed& placed, const Sample& sample) {
    if (placed.event < plan_.interrupting.size()) return calls_.add(plan_.interrupting[placed.event], sample);
    Sample where = sample;
    if (sample.mode != Mode::user) where.ip = program_counter(*context_);
    poll(where);
  }
  void poll(const Sample& where) {
    for (Polled& polled : polled_) {
      Overflowed passed = polled.ticks.at(polled.count());
      passed.event = polled.event;
      if (passed.times > 0) calls_.add(passed, where);
    }
    calls_.flush(); // the next look is another call
  }
  [[nodiscard]] std::vector<SampledCount> read_sampled() const {
    std::vector<SampledCount> sampled(open_.events.size());
    read_counts(open_, sampled);
    return sampled;
  }

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

} // namespace
} // namespace recount::perf

namespace recount {

namespace {

void require_possible(const std::vector<OverflowEvent>& events, const OverflowOptions& options) {
  if (events.empty()) throw bad_input("overflow", "needs at least one event", "add an event");
  if (events.size() > perf::max_overflow_events)
    throw bad_input("overflow", "has more than 64 events", "use several objects");
  if (options.delivery == Delivery::signal && (options.pid != 0 || options.inherit))
    throw bad_input("overflow", "signals are delivered only to a thread that counts itself",
                    "use Delivery::thread for other processes");
  if (options.interval.count() <= 0) throw bad_input("overflow", "the timer interval must be greater than 0");
}

void require_threshold(const Event& event, std::uint64_t threshold) {
  if (threshold == 0) throw bad_input(event.name, "an overflow threshold of 0", "use 1 for every occurrence");
}

perf::OverflowPlan plan(std::vector<OverflowEvent> events, OverflowCallback callback,
                        const OverflowOptions& options) {
  require_possible(events, options);
  if (!callback) throw bad_input("overflow", "needs a callback");
  perf::OverflowPlan plan{std::move(events), {}, {}, std::move(callback), options};
  for (std::size_t i = 0; i < plan.events.size(); ++i) {
    require_threshold(plan.events[i].event, plan.events[i].threshold);
    (options.emulate || !can_interrupt(plan.events[i].event) ? plan.emulated : plan.interrupting)
        .push_back(i);
  }
  return plan;
}

} // namespace

Overflow::Overflow(std::vector<OverflowEvent> events, OverflowCallback callback,
                   const OverflowOptions& options) {
  auto requested = plan(std::move(events), std::move(callback), options);
  if (options.delivery == Delivery::signal)
    engine_ = std::make_unique<perf::SignalOverflow>(std::move(requested));
  else
    engine_ = std::make_unique<perf::ThreadOverflow>(std::move(requested));
}
Overflow::~Overflow() = default;

perf::OverflowEngine& Overflow::here() const {
  engine_->owner().require_here("overflow");
  return *engine_;
}
void Overflow::start() {
  here().start();
}
void Overflow::stop() {
  if (engine_->owner().here()) engine_->stop();
}
void Overflow::set_threshold(std::size_t event, std::uint64_t threshold) {
  if (threshold == 0) throw bad_input("overflow", "a threshold of 0", "use 1 for every occurrence");
  require_index("event of an overflow", event, engine_->plan().events.size());
  here().set_threshold(event, threshold);
}
bool Overflow::emulated(std::size_t event) const {
  return std::ranges::count(engine_->plan().emulated, event) > 0;
}
std::vector<OverflowCount> Overflow::counts() {
  return here().counts();
}
std::uint64_t Overflow::missed() {
  return here().missed();
}

} // namespace recount
