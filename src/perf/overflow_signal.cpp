#include "perf/overflow_signal.hpp"

#include "perf/errno_hints.hpp"
#include "perf/sample_open.hpp"
#include "process/signals.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <ucontext.h>
#include <unistd.h>

namespace recount::perf {
namespace {

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

} // namespace

std::uint64_t SignalOverflow::Looked::count() const noexcept {
  std::uint64_t value = 0;
  return ::read(fd.get(), &value, sizeof value) == sizeof value ? value : 0;
}

SignalOverflow::SignalOverflow(OverflowPlan plan)
    : plan_(std::move(plan)), open_(open_own(plan_)), ids_(open_), calls_(plan_.callback), tid_(gettid()) {
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
    const OverflowEvent& asked = plan_.events[i];
    if (!asked.event.present) throw absent_error(asked.event);
    perf_event_attr attr = asked.event.attr;
    attr.disabled = 1;
    Attempt attempt = open_sized(attr, {});
    if (!attempt.fd) throw open_error(asked.event, attempt.error);
    looked_.push_back({i, std::move(attempt.fd), Ticks(asked.threshold)});
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
  for (const Looked& looked : looked_)
    ioctl(looked.fd.get(), request, 0);
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
  if (sample.mode != Mode::user && pc_register != 0) where.ip = program_counter(*context_);
  for (Looked& looked : looked_) {
    Overflowed passed = looked.ticks.at(looked.count());
    passed.event = looked.event;
    if (passed.times > 0) calls_.add(passed, where);
  }
  calls_.flush(); // the next look is another call
}

void SignalOverflow::set_threshold(std::size_t event, std::uint64_t threshold) {
  const process::SignalsBlocked blocked; // the handler reads what is changed here
  plan_.events[event].threshold = threshold;
  for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
    if (plan_.interrupting[i] == event) return set_period(open_, i, threshold);
  for (Looked& looked : looked_)
    if (looked.event == event) looked.ticks.change(threshold, looked.count());
}

std::vector<OverflowCount> SignalOverflow::counts() {
  std::vector<SampledCount> sampled(open_.events.size());
  read_counts(open_, sampled);
  std::vector<OverflowCount> out(plan_.events.size());
  for (std::size_t i = 0; i < plan_.interrupting.size(); ++i)
    out[plan_.interrupting[i]].occurrences = sampled[i].occurrences;
  for (const Looked& looked : looked_)
    out[looked.event].occurrences = looked.count();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].overflows = calls_.told()[i];
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

std::unique_ptr<OverflowEngine> deliver_by_signal(OverflowPlan plan) {
  return std::make_unique<SignalOverflow>(std::move(plan));
}

} // namespace recount::perf
