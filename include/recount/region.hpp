// Regions of a program: what each counts, added up over its calls and threads.
#pragma once

#include <recount/reason.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount {

/// What the calls of one region counted, nested regions included.
struct RegionTotal {
  std::string name;
  std::uint64_t calls = 0;
  std::uint64_t threads = 0; ///< that called it
  struct Event {
    std::string name;
    std::optional<std::uint64_t> count; ///< over the calls that were counted; none: no call was
    std::uint64_t uncounted = 0;        ///< calls without a count: the event was multiplexed or not scheduled
    Reason reason;                      ///< why the event cannot be counted at all; empty: it can
  };
  std::vector<Event> events; ///< in the order of region_events()
};

/// Counts its own lifetime under a name, on the thread that makes and destroys it. Counters are read in user
/// space where the kernel allows it, else by read(2). Each thread opens the events at its first region; they
/// then count until it ends. What it counted is then added to the totals, and its memory is freed.
///
///     void solve() {
///       const recount::Region region("solve");
///       ...
///     }
///
/// At the exit of a program that had regions the totals are printed to stderr, unless the environment has
/// RECOUNT_REGIONS=off. Thread-safe, not async-signal-safe. pthread_cancel(3) of a thread takes effect
/// outside of constructor and destructor. In a child that is forked after the first region (or
/// region_events()) regions count nothing, on any thread, and exit(3) prints nothing.
class Region {
public:
  static constexpr std::size_t max_events = 4;
  /// `name` is a string literal, or lives as long as the program.
  explicit Region(const char* name) noexcept;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

private:
  struct Entry;
  struct Thread;
  friend struct Regions;
  Thread* thread_; ///< null: nothing can be counted on this thread
  Entry* entry_ = nullptr;
  using Values = std::array<std::uint64_t, max_events>;
  bool begun_ = false; ///< begin_ has values
  Values begin_;
};

/// The events of all regions: at most Region::max_events names. Default: those in the environment variable
/// RECOUNT_EVENTS, separated by spaces, else "perf::CYCLES:u perf::INSTRUCTIONS:u". Throws Error (bad_input)
/// for too many, and after the first region; unavailable in a forked child.
void region_events(std::vector<std::string> names);

/// The totals so far, in the order in which the regions were first entered; of a region that has not ended
/// only its former calls. Regions of one name are one. Empty in a forked child. Thread-safe.
[[nodiscard]] std::vector<RegionTotal> region_totals();

/// The totals as the table that is printed at exit.
[[nodiscard]] std::string region_table(const std::vector<RegionTotal>& totals);

} // namespace recount
