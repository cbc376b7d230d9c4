// Sampling: a record every N occurrences of events, through the kernel's ring buffers.
#pragma once

#include <recount/event.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <sys/types.h>
#include <variant>
#include <vector>

namespace recount {

/// An event to sample. At most one of period and frequency is set; with neither the event is only counted.
struct SampledEvent {
  Event event;
  std::uint64_t period = 0;    ///< occurrences per sample (nanoseconds for the clock events)
  std::uint64_t frequency = 0; ///< samples per second, approximately: the kernel adapts the period
  unsigned precise = 0;        ///< 0...3 (precise_ip of perf_event_open(2)), lowered to what the PMU offers
};

/// The target of sampling, and the fields of a sample.
struct SamplingOptions {
  pid_t pid = 0;               ///< 0: the calling thread; > 0: all threads of this process; -1: all CPUs
  bool inherit = false;        ///< also threads and processes that they create later
  bool enable_on_exec = false; ///< sampling starts when the target calls execve(2)
  bool follow = false;         ///< deliver Mapping, Name, Fork and End, also while sampling is stopped
  bool build_ids = false;      ///< with follow: Mapping::build_id instead of the inode (Linux 5.12)
  bool group = false;  ///< the events are one kernel group, and every sample holds the values of all of them
  bool chains = false; ///< call chains by frame pointers
  unsigned frames = 0; ///< of a call chain at most; 0: as many as the kernel allows
  std::uint64_t user_registers = 0; ///< by their bits in asm/perf_regs.h: where user mode was left
  std::size_t buffer = 0; ///< bytes of each ring, rounded up to a power of two of pages; 0: as fits (2 MiB
                          ///< where few rings are needed and memory may be locked, less otherwise)
  std::vector<pid_t> more_pids = {}; ///< with pid > 0: further processes
  std::uint32_t user_stack =
      0;                 ///< bytes of the user stack in each sample, a multiple of 8 below 65528; 0: none
  bool branches = false; ///< call chains of user mode by the CPU's branch stack (Intel LBR)
};

/// The mode that a sample was taken in.
enum class Mode : std::uint8_t { unknown, kernel, user, hypervisor, guest_kernel, guest_user };

// Records. Views (spans, string_views) are valid only during the call that delivers the record. Times are
// nanoseconds of CLOCK_MONOTONIC, which is std::chrono::steady_clock.

/// One occurrence out of `period`.
struct Sample {
  std::size_t event = 0; ///< index into Sampling::events()
  std::uint64_t time = 0;
  std::uint64_t ip = 0;      ///< instruction pointer (data breakpoints: the next instruction)
  std::uint64_t address = 0; ///< of the data concerned (page faults, breakpoints, precise loads); 0: none
  std::uint64_t period = 0;  ///< occurrences that this sample stands for
  std::uint32_t pid = 0, tid = 0, cpu = 0;
  Mode mode = Mode::unknown;
  bool exact = false;                   ///< the PMU guarantees that ip is precise (PERF_RECORD_MISC_EXACT_IP)
  std::span<const std::uint64_t> chain; ///< innermost first, PERF_CONTEXT_* markers included
  std::span<const std::uint64_t> user_registers; ///< in the order of the mask's bits
  std::uint64_t register_abi = 0;                ///< of these, PERF_SAMPLE_REGS_ABI_*
  std::span<const std::uint64_t> user_stack;     ///< from the stack pointer on
  std::span<const std::uint64_t> branches;       ///< innermost first, three words each: from, to, flags
  std::span<const std::uint64_t> values;         ///< of a group, in the order of the events, since opening
};
/// A file or memory was mapped as executable.
struct Mapping {
  std::uint64_t time = 0;
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t start = 0, length = 0, offset = 0; ///< bytes; offset in the file
  std::uint32_t protection = 0;                    ///< PROT_* of mmap(2)
  std::uint64_t device = 0, inode = 0;             ///< as st_dev and st_ino; 0 with a build id
  std::span<const std::uint8_t> build_id;
  std::string_view file; ///< "/usr/lib/libc.so.6", "[vdso]", "//anon"
};
/// The name of a thread changed, by execve(2) or prctl(2).
struct Name {
  std::uint64_t time = 0;
  std::uint32_t pid = 0, tid = 0;
  bool exec = false; ///< by execve(2): earlier mappings of the process are invalid
  std::string_view name;
};
/// A process or, if pid == parent_pid, a thread was created.
struct Fork {
  std::uint64_t time = 0;
  std::uint32_t pid = 0, tid = 0, parent_pid = 0, parent_tid = 0;
};
/// A thread ended.
struct End {
  std::uint64_t time = 0;
  std::uint32_t pid = 0, tid = 0;
};
/// Records lost before this one, because the ring was full.
struct Loss {
  std::uint64_t time = 0;
  std::uint64_t records = 0;
};
/// The kernel throttled an event that occurred too often, or resumed it.
struct Throttle {
  std::uint64_t time = 0;
  std::size_t event = 0;
  bool stopped = false;
};
using Record = std::variant<Sample, Mapping, Name, Fork, End, Loss, Throttle>;

/// Counts of one event and its samples.
struct SampledCount {
  std::uint64_t samples = 0;         ///< delivered
  std::uint64_t weight = 0;          ///< the sum of their periods
  std::optional<std::uint64_t> lost; ///< samples that found the ring full, by the kernel's own count (Linux
                                     ///< 6.0); none: this kernel reports Loss records only
  std::uint64_t throttled = 0;       ///< times that the kernel stopped it for a while
  std::uint64_t occurrences = 0;     ///< counted while it was enabled and on the PMU
  std::uint64_t enabled_ns = 0, running_ns = 0; ///< summed over threads and CPUs
  /// With SamplingOptions::follow, of enabled_ns the time in which the threads ran on the CPUs of the event.
  /// An inherited event of a CPU is also enabled while its thread runs elsewhere: from its first run on that
  /// CPU on, so that enabled_ns lies between this time and its product with the number of CPUs.
  std::uint64_t present_ns = 0;
};
/// Counts and overhead of a Sampling so far.
struct SamplingReport {
  std::vector<SampledCount> events; ///< in the order of Sampling::events()
  std::uint64_t lost_records = 0;   ///< reported by Loss records, of all kinds
  std::uint64_t lost_followed = 0;  ///< Mapping, Name, Fork and End records lost, by the kernel's own count
  std::uint64_t full = 0;    ///< rings that were ever found without room for another record: some may be
                             ///< missing without a Loss record (a ring that stays full has none)
  std::uint64_t damaged = 0; ///< invalid records, which were left out
  std::uint64_t late = 0;    ///< records delivered after one with a later time
  std::uint64_t records = 0, bytes = 0; ///< delivered
  std::uint64_t reader_ns = 0; ///< processor time that wait(), read() and finish() took, the sink's included
  std::size_t rings = 0, ring_bytes = 0; ///< memory: how many rings, and the bytes of each
  /// Whether no record was lost or damaged.
  [[nodiscard]] bool complete() const noexcept;
};

/// Samples events of a thread, a process and its children, or whole CPUs. Construction does not start it. The
/// rings bound its memory (see SamplingReport), and nothing is allocated after construction. If they are not
/// read in time, records are lost and counted, and the target is not slowed.
///
///     recount::SamplingOptions options;
///     options.pid = child;
///     options.inherit = options.enable_on_exec = options.follow = true;
///     recount::Sampling sampling({{recount::encode("perf::CPU-CLOCK"), 0, 1000}}, options);
///     ... let the child continue ...
///     const auto sink = [&](const recount::Record& record) { ... };
///     while (sampling.wait(std::chrono::milliseconds(100)))
///       sampling.read(sink);
///     sampling.finish(sink);
///
/// Movable. One thread at a time may use an object. fork(2), cancellation, descriptors: see group.hpp.
class Sampling {
public:
  using Sink = std::function<void(const Record&)>;

  /// Throws Error as Group does, and also (bad_input) when an event has both period and frequency or none
  /// samples at all; unavailable when an event cannot interrupt or the rings may not be locked in memory.
  explicit Sampling(std::vector<SampledEvent> events, const SamplingOptions& options = {});
  Sampling(Sampling&&) noexcept;
  Sampling& operator=(Sampling&&) noexcept;
  ~Sampling();

  void start();
  void stop();
  /// Changes the period of an event, running or not (perf_event_open(2), PERF_EVENT_IOC_PERIOD); its
  /// frequency where it has one.
  void set_period(std::size_t event, std::uint64_t period);

  /// Waits until a ring is a quarter full or the time-out expires. False once all sampled tasks have ended;
  /// finish() then delivers the remaining records. A signal handler ends the wait early.
  [[nodiscard]] bool wait(std::chrono::milliseconds limit);
  /// Delivers records in the order of their times. With several rings, records newer than the previous call
  /// (at least a millisecond) wait for the next call, because another CPU may still write older ones. If
  /// `sink` throws, its record counts as delivered.
  void read(const Sink& sink);
  /// Delivers all records.
  void finish(const Sink& sink);

  [[nodiscard]] const std::vector<SampledEvent>& events() const noexcept; ///< with `precise` as granted
  [[nodiscard]] SamplingReport report();
  /// Descriptors for poll(2): readable when a ring is a quarter full.
  [[nodiscard]] const std::vector<int>& descriptors() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether an event can be sampled; false if its PMU raises no interrupts (msr, most uncore PMUs). Tested on
/// the calling thread.
[[nodiscard]] bool can_interrupt(const Event& event);

/// Calls `sink` with a Mapping (time 0) for each existing executable mapping of a process: records report
/// only later ones. No calls if /proc/PID/maps cannot be read.
void existing_mappings(pid_t pid, const Sampling::Sink& sink);

} // namespace recount
