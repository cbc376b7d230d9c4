// Overflow, and its delivery by a thread that reads the rings.
#include "perf/overflow_engine.hpp"
#include "perf/try_open.hpp"
#include "process/signals.hpp"

#include <recount/error.hpp>
#include <recount/overflow.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

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

  void take_timer(const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample == nullptr || sample->values.empty()) return;
    Sample where = *sample;
    if (where.mode != Mode::user && !where.user_registers.empty()) where.ip = where.user_registers[0];
    auto& seen = reader_->seen[{sample->tid, plan_.options.inherit ? sample->cpu : 0}];
    for (std::size_t i = seen.size(); i < plan_.emulated.size(); ++i)
      seen.push_back({Ticks(plan_.events[plan_.emulated[i]].threshold), 0});
    for (std::size_t i = 0; i < plan_.emulated.size(); ++i) {
      seen[i].last = sample->values[i + 1];
      Overflowed passed = seen[i].ticks.at(seen[i].last);
      passed.event = plan_.emulated[i];
      if (passed.times > 0) calls_.add(passed, where);
    }
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

} // namespace

std::unique_ptr<OverflowEngine> deliver_by_thread(OverflowPlan plan) {
  return std::make_unique<ThreadOverflow>(std::move(plan));
}

} // namespace recount::perf

namespace recount {

namespace {

void require_possible(const std::vector<OverflowEvent>& events, const OverflowOptions& options) {
  if (events.empty()) throw bad_input("overflow", "needs at least one event", "add an event");
  if (events.size() > perf::most_overflow_events)
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

SampledEvent perf::overflow_timer(const OverflowPlan& plan) {
  const auto period = std::chrono::nanoseconds(plan.options.interval).count();
  SampledEvent timer{encode("perf::CPU-CLOCK", Domain::all), static_cast<std::uint64_t>(period), 0, 0};
  perf_event_attr attr = timer.event.attr;
  attr.sample_period = timer.period;
  attr.disabled = 1;
  if (!open_sized(attr, {}).fd) timer.event = encode("perf::CPU-CLOCK", Domain::user);
  return timer;
}

Overflow::Overflow(std::vector<OverflowEvent> events, OverflowCallback callback,
                   const OverflowOptions& options) {
  auto requested = plan(std::move(events), std::move(callback), options);
  engine_ = options.delivery == Delivery::signal ? perf::deliver_by_signal(std::move(requested))
                                                 : perf::deliver_by_thread(std::move(requested));
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
