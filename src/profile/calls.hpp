// Matches probe hits to calls: entries to returns. Pure.
#pragma once

#include "profile/spread.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace recount::profile {

/// A probe was hit.
struct CallHit {
  bool returns = false; ///< at a return; else at the entry
  std::uint32_t tid = 0, cpu = 0;
  std::uint64_t time = 0;       ///< ns
  std::uint64_t stack = 0;      ///< stack pointer of the caller: the same at a call's entry and return
  std::uint64_t migrations = 0; ///< that the thread has made onto this CPU
  std::span<const std::uint64_t> values; ///< of the counters
};

/// The calls of one function in all threads, by these rules:
///  - A return belongs to the latest entry of its thread with the same stack pointer. Entries further in that
///    have not returned never will: they were left by longjmp(3), an exception or an exit ("unreturned").
///  - An entry further out than earlier ones ends these in the same way.
///  - Several entries at one stack pointer are a function that calls itself in tail position, each of which
///    returns at once with the others, or one that was left by longjmp and called again; later records
///    decide.
///  - A return without entry ("stray") happens in a child that was forked within the call, and where Linux
///    lost records.
///  - A call that began on another CPU than it ended, or changed CPUs meanwhile, has no counts where counters
///    are per CPU ("migrated"); it still counts as a call.
///  - Counts are inclusive: they include callees and recursive calls. Totals add up outermost calls
///    only, so that recursion counts once.
/// Memory: 4096 calls under way in each thread, further ones are unreturned. Not thread-safe.
class Calls {
public:
  /// `by_cpu`: each CPU has its own counters.
  Calls(std::size_t counters, bool by_cpu);

  void add(const CallHit& hit);
  void forget();                      ///< records were lost: pending calls are unknown
  void end_thread(std::uint32_t tid); ///< its calls will not return
  void finish();                      ///< pending calls will not return

  std::uint64_t entries = 0, returns = 0;
  std::uint64_t completed = 0;  ///< entries whose return was seen
  std::uint64_t unreturned = 0; ///< without: unwound, ended with their thread, or still under way
  std::uint64_t stray = 0;      ///< returns whose entry was not seen
  std::uint64_t migrated = 0;   ///< of the completed: without counts
  std::uint64_t recursive = 0;  ///< entries within an earlier call of the same function in the same thread
  std::uint64_t forgotten = 0;  ///< entries with unknown end because records were lost
  Spread wall;                  ///< ns from entry to return, of completed calls
  std::vector<Spread> spreads;  ///< of each counter, of completed calls that did not migrate
  std::vector<std::uint64_t> totals; ///< of each counter, over outermost calls
  std::uint64_t total_wall = 0;      ///< ns in outermost calls, summed over threads
  std::uint64_t outermost = 0;       ///< completed, not migrated, not within another

private:
  struct Entry {
    std::uint64_t stack = 0, time = 0, migrations = 0;
    std::uint32_t cpu = 0;
  };
  struct Thread {
    std::vector<Entry> entries;        ///< outermost first
    std::vector<std::uint64_t> values; ///< of the entries, one after the other
    bool returned_last = false;
    std::uint64_t returned_stack = 0, returned_wall = 0; ///< of an outermost call that returned last
    std::vector<std::uint64_t> returned_values;          ///< its part of the totals
  };
  void enter(Thread& thread, const CallHit& hit);
  void leave(Thread& thread, const CallHit& hit);
  void complete(Thread& thread, const CallHit& hit);
  void drop(Thread& thread, std::size_t from);

  std::size_t counters_;
  bool by_cpu_;
  std::vector<std::uint64_t> taken_; ///< scratch
  std::unordered_map<std::uint32_t, Thread> threads_;
};

} // namespace recount::profile
