#include <recount/region.hpp>

#include <recount/error.hpp>
#include <recount/user_read.hpp>

#include "base/format.hpp"
#include "base/process/fd.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"
#include "count/perf/owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unistd.h>

namespace recount {

/// The sums of a region on one thread. Only that thread writes them.
struct Region::Entry {
  const char* name = nullptr;
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> counted = 0;                    ///< calls with values
  std::array<std::atomic<std::uint64_t>, max_events> sums{}; ///< by counter
};

struct Region::Thread {
  std::optional<UserRead> counters; ///< of the events that fit on the PMU together; none: no event counts
  std::size_t counter_count = 0;
  std::array<std::optional<std::size_t>, max_events> counter_of_event; ///< index in `counters`
  std::array<Reason, max_events> reasons;                              ///< by event
  std::mutex entries_mutex;  ///< for insertions and for readers on other threads
  std::deque<Entry> entries; ///< a deque: entries never move
  Entry* last = nullptr;     ///< the region entered last
  perf::Owner owner;

  void open(const std::vector<std::string>& names);
  [[nodiscard]] bool read(Values& values) {
    return counter_count != 0 && counters->values({values.data(), counter_count});
  }
  Entry* entry(const char* name) {
    if (last == nullptr || last->name != name) [[unlikely]]
      last = find_or_add_entry(name);
    return last;
  }
  /// Null in a forked child: a thread of the parent that does not exist here may have locked the mutex.
  Entry* find_or_add_entry(const char* name) {
    if (!owner.here()) return nullptr;
    for (Entry& entry : entries)
      if (entry.name == name) return &entry;
    return add_entry(name);
  }
  Entry* add_entry(const char* name);
};

/// The events, the threads that have regions, and the sums of those that have ended. A forked child uses
/// nothing but `owner`: a thread of the parent that does not exist here may have locked the mutex.
struct Regions {
  perf::Owner owner;
  std::mutex mutex;
  bool begun = false;
  std::vector<std::string> events;
  std::vector<std::shared_ptr<Region::Thread>> threads;
  /// Of ended threads, for all regions in the order in which they were first entered.
  std::vector<RegionTotal> totals;

  static Regions& all() {
    static Regions& regions = *new Regions; // never destroyed: threads may end after main()
    return regions;
  }
  /// Null if nothing can be counted. A forked child keeps the thread that called fork(2), whose reads fail.
  static Region::Thread* current_thread() noexcept {
    return current != nullptr ? current : register_thread();
  }
  static constinit thread_local Region::Thread* current;
  static Region::Thread* register_thread() noexcept;
  std::shared_ptr<Region::Thread> begin_thread();
  void end_thread(const std::shared_ptr<Region::Thread>& thread);
  void choose_events();
  RegionTotal& find_or_add_total(std::vector<RegionTotal>& all, const char* name) const;
  void add(std::vector<RegionTotal>& all, Region::Thread& thread) const;
};

namespace {

/// A single writer: no read-modify-write instruction is needed.
void add(std::atomic<std::uint64_t>& to, std::uint64_t more) {
  to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

void print_totals() {
  const char* const setting = std::getenv("RECOUNT_REGIONS");
  if (setting != nullptr && std::strcmp(setting, "off") == 0) return;
  if (const auto totals = region_totals(); !totals.empty())
    static_cast<void>(
        process::write_all(STDERR_FILENO, region_table(totals))); // at exit, no error can be reported
}

} // namespace

/// Those that can be counted, as one group: one event after the other is added, which tells which cannot.
void Region::Thread::open(const std::vector<std::string>& names) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      events.push_back(encode(names[i], Domain::user));
      counters.emplace(UserRead(events));
      counter_of_event[i] = events.size() - 1;
    } catch (const Error& error) {
      reasons[i] = error.problem();
      events.resize(counters ? counters->size() : 0);
    }
  }
  if (!counters) return;
  counters->start();
  counter_count = counters->size();
}

Region::Entry* Region::Thread::add_entry(const char* name) {
  Regions& all = Regions::all();
  const std::lock_guard all_lock(all.mutex);
  static_cast<void>(all.find_or_add_total(all.totals, name));
  const std::lock_guard lock(entries_mutex);
  Entry& entry = entries.emplace_back();
  entry.name = name;
  return &entry;
}

void Regions::choose_events() {
  if (!events.empty()) return;
  const char* const setting = std::getenv("RECOUNT_EVENTS");
  const std::string_view names = setting != nullptr ? setting : "perf::CYCLES:u perf::INSTRUCTIONS:u";
  for (const auto word : base::split(names, ' '))
    if (const auto name = base::trim(word); !name.empty()) events.emplace_back(name);
  if (events.size() <= Region::max_events) return;
  static_cast<void>(process::write_all(
      STDERR_FILENO, fmt::format("recount: RECOUNT_EVENTS: only the first {} of {} events are counted\n",
                                 Region::max_events, events.size())));
  events.resize(Region::max_events);
}

std::shared_ptr<Region::Thread> Regions::begin_thread() {
  const std::lock_guard lock(mutex);
  choose_events();
  if (!begun) std::atexit(print_totals);
  begun = true;
  auto thread = std::make_shared<Region::Thread>();
  thread->open(events);
  threads.push_back(thread);
  return thread;
}

void Regions::end_thread(const std::shared_ptr<Region::Thread>& thread) {
  thread->counter_count = 0;
  thread->counters.reset();
  if (!owner.here()) return;
  const std::lock_guard lock(mutex);
  add(totals, *thread);
  std::erase(threads, thread);
}

RegionTotal& Regions::find_or_add_total(std::vector<RegionTotal>& all, const char* name) const {
  const auto found = std::ranges::find(all, name, &RegionTotal::name);
  if (found != all.end()) return *found;
  RegionTotal& total = all.emplace_back(RegionTotal{name, 0, 0, {}});
  for (const std::string& event : events)
    total.events.push_back({event, {}, 0, {}});
  return total;
}

/// Adds the sums of a thread.
void Regions::add(std::vector<RegionTotal>& all, Region::Thread& thread) const {
  const std::lock_guard lock(thread.entries_mutex);
  for (const auto& entry : thread.entries) {
    RegionTotal& total = find_or_add_total(all, entry.name);
    const std::uint64_t calls = entry.calls.load(std::memory_order_relaxed);
    total.calls += calls;
    ++total.threads;
    for (std::size_t i = 0; i < total.events.size(); ++i) {
      RegionTotal::Event& event = total.events[i];
      const auto counter = thread.counter_of_event[i];
      const std::uint64_t counted = counter ? entry.counted.load(std::memory_order_relaxed) : 0;
      if (counted > 0)
        event.count = event.count.value_or(0) + entry.sums[*counter].load(std::memory_order_relaxed);
      event.uncounted += calls - std::min(calls, counted);
      if (event.reason.empty()) event.reason = thread.reasons[i];
    }
  }
}

constinit thread_local Region::Thread* Regions::current = nullptr;

Region::Thread* Regions::register_thread() noexcept {
  static constinit thread_local bool ended = false;
  struct Holder {
    std::shared_ptr<Region::Thread> thread;
    ~Holder() {
      ended = true;
      current = nullptr;
      if (!thread) return;
      try {
        all().end_thread(thread);
      } catch (...) { // no memory: its sums stay where they are
      }
    }
  };
  const process::CancelBlocked uncancelled;
  try {
    if (ended || !all().owner.here()) return nullptr;
    thread_local Holder holder;
    holder.thread = all().begin_thread();
    current = holder.thread.get();
  } catch (...) { // no memory
  }
  return current;
}

Region::Region(const char* name) noexcept : thread_(Regions::current_thread()) {
  if (thread_ == nullptr) return;
  try {
    entry_ = thread_->entry(name);
    begun_ = thread_->read(begin_);
    if (!begun_ && !thread_->owner.here()) thread_ = nullptr;
  } catch (...) { // no memory, or a read that failed: this call is not counted
    thread_ = nullptr;
  }
}

Region::~Region() {
  if (thread_ == nullptr) return;
  try {
    if (Values end; begun_ && thread_->read(end)) {
      for (std::size_t i = 0; i < thread_->counter_count; ++i)
        add(entry_->sums[i], end[i] - begin_[i]);
      add(entry_->counted, 1);
    } else if (!thread_->owner.here()) { // forked within the region
      return;
    }
  } catch (const Error&) { // a destructor must not throw: this call is not counted
  }
  add(entry_->calls, 1);
}

void region_events(std::vector<std::string> names) {
  Regions& all = Regions::all();
  all.owner.require_here("region_events");
  const std::lock_guard lock(all.mutex);
  if (all.begun) throw bad_input("region_events", "a region has begun already", "call it before");
  if (names.size() > Region::max_events)
    throw bad_input("region_events", fmt::format("more than {} events", Region::max_events),
                    "leave some out");
  all.events = std::move(names);
}

std::vector<RegionTotal> region_totals() {
  Regions& all = Regions::all();
  if (!all.owner.here()) return {}; // they are the parent's
  const std::lock_guard lock(all.mutex);
  std::vector<RegionTotal> totals = all.totals;
  for (const auto& thread : all.threads)
    all.add(totals, *thread);
  return totals;
}

std::string region_table(const std::vector<RegionTotal>& totals) {
  std::string text =
      fmt::format("{:<24} {:>10} {:>8} {:>20} {}\n", "region", "calls", "threads", "count", "event");
  for (const RegionTotal& total : totals)
    for (const RegionTotal::Event& event : total.events) {
      text += fmt::format("{:<24} {:>10} {:>8} {:>20} {}", base::printable(total.name), total.calls,
                          total.threads, event.count ? std::to_string(*event.count) : "not counted",
                          base::printable(event.name));
      if (!event.reason.empty())
        text += ": " + base::printable(event.reason.cause);
      else if (event.uncounted > 0)
        text += fmt::format(" ({} not counted: multiplexed or not scheduled)",
                            base::format_count(event.uncounted, "call"));
      text += "\n";
    }
  return text;
}

} // namespace recount
