// One run in its own process, which reads a request and answers through a pipe.
#pragma once

#include "process/temporary_folder.hpp"
#include "process/worker.hpp"
#include "sweep/answer.hpp"
#include "sweep/engine.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace recount::sweep {

/// Destroying it kills the process. Movable.
class RunProcess {
public:
  /// Starts it. Throws recount::Error (unavailable) when the program cannot be started at all.
  RunProcess(const Job& job, const Execution& how);

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] int out() const { return worker_.out(); } ///< to poll; -1 once all is read
  [[nodiscard]] int err() const { return worker_.err(); }
  /// When advance() must look at the limit; a later call may give a later time.
  [[nodiscard]] std::chrono::steady_clock::time_point deadline() const;
  /// The completed share of a simulation, from the last progress line.
  [[nodiscard]] std::optional<double> simulated() const { return simulated_; }

  /// Reads available output without waiting; kills the process after its time limit. True: it has ended.
  bool advance();

  /// Once ended. `failed` is set when there is no usable answer.
  [[nodiscard]] Answer answer() const;
  [[nodiscard]] std::chrono::nanoseconds wall() const { return ended_ - started_; }
  /// Since its start, while it runs.
  [[nodiscard]] std::chrono::nanoseconds running() const {
    return std::chrono::steady_clock::now() - started_;
  }

private:
  [[nodiscard]] std::string with_last_words(std::string reason) const;
  /// Remaining time; nothing without a limit.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> left() const;
  [[nodiscard]] std::string ending() const;

  const Job* job_;
  std::string run_;
  bool native_;
  std::optional<std::chrono::milliseconds> limit_; ///< wall time of a native run, else CPU time
  std::chrono::steady_clock::time_point started_, ended_;
  std::optional<process::TemporaryFolder> temporary_; ///< removed after the process has ended
  process::Worker worker_;
  process::Exit exit_;
  std::optional<double> simulated_;
};

} // namespace recount::sweep
