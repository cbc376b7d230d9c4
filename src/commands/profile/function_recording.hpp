// Counts events per call of selected functions, in an unmodified program.
#pragma once

#include "commands/profile/recording.hpp"
#include "show/command/output.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace recount::profile {

// Matches probe hits to calls, entries to returns, and the distributions of their counts.

/// A distribution in bounded memory. Minimum, maximum, sum and number of values are exact. Quantiles come
/// from buckets: exact below 32, else within 1/32 of the value, as in HdrHistogram.
class Histogram {
public:
  void add(std::uint64_t value) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t minimum() const noexcept { return minimum_; } ///< 0 without values
  [[nodiscard]] std::uint64_t maximum() const noexcept { return maximum_; } ///< 0 without values
  [[nodiscard]] double sum() const noexcept { return sum_; }
  [[nodiscard]] double mean() const noexcept { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
  /// The value that a share p (0...1) of the values do not exceed; 0 without values.
  [[nodiscard]] std::uint64_t quantile(double p) const noexcept;

private:
  static constexpr unsigned bits = 5; ///< 32 buckets between powers of two
  static constexpr std::size_t buckets = (64 - bits + 1) << bits;
  [[nodiscard]] static std::size_t bucket(std::uint64_t value) noexcept;
  [[nodiscard]] static std::uint64_t middle(std::size_t bucket) noexcept;

  std::uint64_t count_ = 0, minimum_ = 0, maximum_ = 0;
  double sum_ = 0;
  std::array<std::uint64_t, buckets> filled_{};
};

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
///  - A return belongs to the latest entry of its thread with the same stack pointer. Inner entries without a
///    return were left by longjmp(3), an exception or an exit ("unreturned").
///  - An entry outside earlier ones ends these in the same way.
///  - Several entries at one stack pointer are a function that calls itself in tail position, each of which
///    returns at once with the others, or one that was left by longjmp and called again; later records
///    decide.
///  - A return without entry ("stray") happens in a child that was forked within the call, and where Linux
///    lost records.
///  - A call that began on another CPU than it ended, or changed CPUs meanwhile, has no counts where counters
///    are per CPU ("migrated"); it still counts as a call.
///  - Counts are inclusive: they include callees and recursive calls. Totals add up outermost calls
///    only, so that recursion counts once.
/// Memory: 4096 active calls in each thread, further ones are unreturned. Pure; not thread-safe.
class Calls {
public:
  /// `by_cpu`: each CPU has its own counters.
  Calls(std::size_t counters, bool by_cpu);

  void add(const CallHit& hit);
  void forget();                      ///< records were lost: active calls are unknown
  void end_thread(std::uint32_t tid); ///< its calls will not return
  void finish();                      ///< active calls will not return

  std::uint64_t entries = 0;
  std::uint64_t completed = 0;   ///< entries whose return was seen
  std::uint64_t unreturned = 0;  ///< without: unwound, ended with their thread, or still active
  std::uint64_t stray = 0;       ///< returns whose entry was not seen
  std::uint64_t migrated = 0;    ///< of the completed: without counts
  std::uint64_t recursive = 0;   ///< entries within an earlier call of the same function in the same thread
  std::uint64_t forgotten = 0;   ///< entries with unknown end because records were lost
  Histogram wall;                ///< ns from entry to return, of completed calls
  std::vector<Histogram> counts; ///< of each counter, of completed calls that did not migrate
  std::vector<std::uint64_t> totals; ///< of each counter, over outermost calls
  std::uint64_t total_wall = 0;      ///< ns in outermost calls, summed over threads

private:
  struct Entry {
    std::uint64_t stack = 0, time = 0, migrations = 0;
    std::uint32_t cpu = 0;
    std::vector<std::uint64_t> values;
  };
  struct Thread {
    std::vector<Entry> entries; ///< outermost first
    bool returned_last = false;
    std::uint64_t returned_stack = 0, returned_wall = 0; ///< of an outermost call that returned last
    std::vector<std::uint64_t> returned_values;          ///< its part of the totals
  };
  void enter(Thread& thread, const CallHit& hit);
  void leave(Thread& thread, const CallHit& hit);
  void complete(Thread& thread, const Entry& entry, const CallHit& hit);
  void drop(Thread& thread, std::size_t from);

  bool by_cpu_;
  std::unordered_map<std::uint32_t, Thread> threads_;
};

struct FunctionSettings {
  /// "NAME" is looked up in the program, else in its libraries; "LIBRARY:NAME" in the library whose file name
  /// begins with LIBRARY. NAME is as in symbol::Module::functions().
  std::vector<std::string> names;
  std::vector<std::string> counters; ///< events that are read at each hit; may be empty
  TargetOptions who;
  bool returns = true;    ///< false: count calls only, without changes to the program's stack
  bool uretprobe = false; ///< trace returns by uretprobes where possible
  std::string debug_path;
};

/// Overhead of the probes of one function, measured on an empty function: the lower bound of its times.
struct ProbeCost {
  Histogram wall;                  ///< ns from entry to return, due to the probes
  std::vector<Histogram> counters; ///< likewise of each counter
  double call_ns = 0;              ///< additional processor time per call
};
/// Values below this may be due to the probes alone: 1.5 times the median, or what 9 of 10 calls of an empty
/// function do not exceed.
[[nodiscard]] std::uint64_t probe_limit(const Histogram& cost);

struct FunctionCalls {
  std::string name, module;
  Calls seen;                         ///< from the records
  std::uint64_t calls = 0;            ///< by a kernel counter: exact even if records are lost
  std::optional<ProbeCost> cost = {}; ///< none: it could not be measured
  bool returns = false;               ///< returns are traced, too
  bool replaced = false;              ///< its return address is replaced
  bool requested = false;             ///< replaced by request; else because its exits are unknown
};

struct FunctionRecording {
  std::vector<std::string> counters;
  std::vector<FunctionCalls> functions;
  std::vector<std::string> notes; ///< limitations of the counts, full sentences
  bool complete = true;           ///< no record was lost
  std::uint64_t reader_ns = 0;    ///< processor time of reading
  double seconds = 0;
  process::Exit exit = {}; ///< of the command
};

/// Inserts probes into the functions, runs the target, and removes them. A new command is stopped at its
/// entry point during insertion; a running process is not. Throws as Target and Sampling do, and Error:
/// bad_input for a name without a match, with the nearest, and for more than 64 matches; unavailable if this
/// user may not place probes.
[[nodiscard]] FunctionRecording record_functions(const FunctionSettings& settings);

/// The representative instruction for the class of the first one of `code`, and its inverse. Pure.
[[nodiscard]] std::span<const unsigned char> calibration_body(std::span<const unsigned char> code);

// The calls of functions as tables for people and as JSON.

/// One for each function with completed calls.
[[nodiscard]] std::vector<show::Table> function_tables(const FunctionRecording& recording);
/// `subject`: the command or the process.
[[nodiscard]] std::string functions_text(const FunctionRecording& recording, const std::string& subject);
[[nodiscard]] std::string functions_json(const FunctionRecording& recording, const std::string& subject);

} // namespace recount::profile
