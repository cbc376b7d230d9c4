// The memory shared with the traced processes, and the loop that reads it.
#pragma once

#include "process/child.hpp"
#include "process/fd.hpp"
#include "trace/protocol.h"
#include "trace/reader.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace recount::trace {

/// A file in memory without a name: nothing of it stays behind. One thread reads.
class Channel {
public:
  /// Throws recount::Error (unavailable).
  Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// "PID:FD:INODE" for the tool.
  [[nodiscard]] std::string name() const;

  /// Makes the reader of a process that was not forked by a traced one, or by one that has ended: that one's
  /// PID, else 0.
  using Begin = std::function<std::unique_ptr<Reader>(std::uint32_t pid, std::uint32_t parent)>;
  /// Called with each reader once its process has ended.
  using End = std::function<void(Reader&)>;

  /// Reads what there is, waiting up to `patience_ms` for more. False: nothing came.
  bool read(const Begin& begin, const End& end, int patience_ms);
  /// Ends the wait of a read() by another thread.
  void wake() const;
  /// After the command has ended: reads the rest; descendants that still run are traced no longer. Their
  /// number.
  int finish(const Begin& begin, const End& end);
  /// Makes the traced processes run on without being traced.
  void close();

  /// Processes that found no slot, or no memory for it.
  [[nodiscard]] std::uint32_t untraced() const;
  /// Processes whose words were damaged, by the program itself.
  [[nodiscard]] int damaged() const { return damaged_; }
  /// Processes that went on with another program, in which the tool did not begin.
  [[nodiscard]] int lost() const { return lost_; }
  /// Processes that ended without the tool: by SIGKILL, or because Valgrind gave up.
  [[nodiscard]] int killed() const { return killed_; }
  /// What Linux would have done, and Valgrind did not: see rt_header.
  [[nodiscard]] std::uint32_t refused_mappings() const;
  [[nodiscard]] std::uint32_t refused_programs() const;

private:
  struct Process {
    std::unique_ptr<Reader> reader;
    std::uint32_t pid = 0, tail = 0; ///< tail: not taken from shared memory, where a stray store may hit
    std::uint32_t own_pid = 0;       ///< in its own PID namespace
    bool damaged = false;
    bool requested = false; ///< it waited for an answer in the round before
  };
  [[nodiscard]] rt_header& header() const { return *static_cast<rt_header*>(memory_); }
  [[nodiscard]] rt_slot& slot(std::uint32_t number) const;
  [[nodiscard]] const std::uint64_t* chunk(std::uint32_t number, std::uint32_t at) const;
  [[nodiscard]] const std::uint64_t* draft(std::uint32_t number) const;
  bool read_all(const Begin& begin, const End& end);
  bool answer(const End& end);
  /// How far a process is; RT_FREE: it was not yet there.
  struct Moment {
    std::uint32_t state = RT_FREE, head = 0;
  };
  bool read_slot(std::uint32_t number, const Moment& upto, const End& end);
  void begin_process(std::uint32_t number, const Begin& begin, const End& end);
  bool consume(std::uint32_t number, std::uint32_t upto);
  void take(std::uint32_t number, const std::uint64_t* words, std::uint64_t count);
  void damage(std::uint32_t number);
  /// Of the process that has a slot, as this process knows it.
  [[nodiscard]] std::uint32_t pid_of(std::uint32_t number) const;
  void take_rest(std::uint32_t number);
  void end_process(std::uint32_t number, const End& end);
  bool end_dead(const End& end);

  process::Fd file_;
  void* memory_ = nullptr;
  std::array<Process, RT_SLOTS> processes_;
  int damaged_ = 0, lost_ = 0, killed_ = 0;
};

// A traced run: its memory, and the thread that reads it while the program executes.

/// Reads what every process of one command does. The thread begins at construction; it receives no signals if
/// the constructing thread blocks them.
class Session {
public:
  /// Throws recount::Error (unavailable).
  Session(Channel::Begin begin, Channel::End end);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] std::string channel() const { return channel_.name(); }
  /// After the command has ended, once: reads the rest. Rethrows what the readers threw. Throws Error
  /// (unavailable) where no process was traced: Valgrind did not start.
  void finish();
  /// After finish(): why processes are missing altogether; empty: none is.
  [[nodiscard]] std::string unsimulated() const;
  /// As above, or why there is no value all the same, as one was not simulated to its end. `exit`: of the
  /// command, whose own end by a signal is known.
  [[nodiscard]] std::string missing(const process::Exit& exit) const;
  /// After finish(): why the values may be others than elsewhere; empty: nothing known.
  [[nodiscard]] std::string doubts() const;

private:
  void read();
  void join();

  Channel::Begin begin_;
  Channel::End end_;
  Channel channel_;
  std::atomic<bool> ended_ = false;
  int begun_ = 0, outlived_ = 0;
  std::exception_ptr failed_;
  std::thread thread_;
};

// The Valgrind tool that hands recount the accesses of a program.

/// How to start a program under the tool.
struct ToolCommand {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What every traced run is told.
struct ToolOptions {
  std::string channel;   ///< Channel::name()
  bool sections = false; ///< the program's section messages are wanted, see sections_variable
  bool objects = false;  ///< where data are is wanted: for a sink with memory()
  bool code = false;     ///< the bytes of instructions are wanted: for a sink with memory()
  std::string subject = "--witness model"; ///< of errors
  std::vector<std::string> cpuid = {};     ///< what the processor answers: see valgrind/cpuid.h
  bool exact = false; ///< every instruction that is executed, and no other: blocks end at each branch
};

/// Why nothing can be traced here; empty: it can.
[[nodiscard]] std::string untraceable();

/// Throws recount::Error (unavailable): where untraceable(), or for a program that Valgrind cannot execute,
/// with its reason; process::CannotRun for one that cannot be found or executed at all.
[[nodiscard]] ToolCommand tool_command(const std::vector<std::string>& command, const ToolOptions& options);

} // namespace recount::trace
