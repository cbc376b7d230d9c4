// Overflow delivered by a thread that reads the rings.
#include "perf/overflow_calls.hpp"
#include "perf/overflow_engine.hpp"
#include "perf/overflow_signal.hpp"
#include "perf/owner.hpp"
#include "process/signals.hpp"

#include <recount/error.hpp>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace recount::perf {
namespace {

constexpr std::chrono::milliseconds look_every{5};

class ThreadOverflow : public OverflowEngine {
public:
  explicit ThreadOverflow(OverflowPlan plan) : plan_(std::move(plan)), calls_(plan_.callback) {
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
    options.interrupted_registers = plan_.options.registers;
    std::vector<SampledEvent> interrupting;
    for (const std::size_t i : plan_.interrupting)
      interrupting.push_back({plan_.events[i].event, plan_.events[i].threshold, 0, 0});
    if (!interrupting.empty()) events_.emplace(std::move(interrupting), options);
  }
  ThreadOverflow(const ThreadOverflow&) = delete;
  ThreadOverflow& operator=(const ThreadOverflow&) = delete;
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
      out[i].overflows = calls_.told()[i];
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
    while (!end_) {
      take(&Sampling::read);
      reader_->woken.wait_for(lock, look_every, [this] { return end_; });
    }
    take(&Sampling::finish);
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

  OverflowPlan plan_;
  OverflowCalls calls_;
  std::optional<Sampling> events_, timer_;
  /// What the reading thread uses, and the thread.
  struct Reader {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Seen>> seen;
    std::recursive_mutex mutex; // the callback may change a threshold
    std::condition_variable_any woken;
    std::thread thread;
  };
  std::unique_ptr<Reader> reader_ = std::make_unique<Reader>();
  bool end_ = false;
  Owner owner_;
};

} // namespace

std::unique_ptr<OverflowEngine> deliver_by_thread(OverflowPlan plan) {
  return std::make_unique<ThreadOverflow>(std::move(plan));
}

} // namespace recount::perf
