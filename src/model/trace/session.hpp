// A traced run: the memory shared with its processes, and the thread that reads it.
#pragma once

#include "base/process/child.hpp"
#include "model/trace/reader.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace recount::trace {

/// Reads what every process of one command does. The thread begins at construction; it receives no signals if
/// the constructing thread blocks them.
class Session {
public:
  /// Makes the reader of a process that was not forked by a traced one, or by one that has ended: that one's
  /// PID, else 0.
  using Begin = std::function<std::unique_ptr<Reader>(std::uint32_t pid, std::uint32_t parent)>;
  /// Called with each reader once its process has ended.
  using End = std::function<void(Reader&)>;
  /// Throws recount::Error (unavailable).
  Session(Begin begin, End end);
  ~Session();

  /// "PID:FD:INODE" for the tool.
  [[nodiscard]] std::string channel() const;
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

  struct Memory;
  Begin begin_;
  End end_;
  std::unique_ptr<Memory> channel_;
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
  std::string channel;   ///< Session::channel()
  bool sections = false; ///< the program's section messages are wanted, see base::sections_variable
  bool objects = false;  ///< where data are is wanted: for a sink with memory()
  bool code = false;     ///< the bytes of instructions are wanted: for a sink with memory()
  std::string subject = "--witness model"; ///< of errors
  std::vector<std::string> cpuid = {};     ///< what the processor answers: see valgrind/tool.h
  bool clock = false; ///< recount answers what time it is: for a sink that is asked RT_CLOCK
  bool exact = false; ///< every instruction that is executed, and no other: blocks end at each branch
};

/// Where what recount executes may be: as RECOUNT_LIBEXEC states, in the folder `built` of a build, and where
/// it was installed.
[[nodiscard]] std::vector<std::filesystem::path> helper_folders(const char* built);

/// Whether Valgrind executes this process, as under recount emulate --exact.
[[nodiscard]] bool under_valgrind();

/// Why nothing can be traced here; empty: it can.
[[nodiscard]] std::string untraceable();

/// Throws recount::Error (unavailable): where untraceable(), or for a program that Valgrind cannot execute,
/// with its reason; process::CannotRun for one that cannot be found or executed at all.
[[nodiscard]] ToolCommand tool_command(const std::vector<std::string>& command, const ToolOptions& options);

} // namespace recount::trace
