// A running process of a sweep: it gets a task and answers through a pipe.
#pragma once

#include "process/child.hpp"
#include "process/fd.hpp"
#include "sweep/answer.hpp"
#include "sweep/engine.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace recount::sweep {

/// Destroying it kills the process. Movable.
class RunProcess {
public:
  /// Starts it. Throws recount::Error (unavailable) when the program cannot be started at all.
  RunProcess(const Job& job, const Execution& how);

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] int out() const { return out_.get(); } ///< to poll; -1 once all is read
  [[nodiscard]] int err() const { return err_.get(); }
  /// When advance() must look at the limit; a later call may give a later time.
  [[nodiscard]] std::chrono::steady_clock::time_point deadline() const;
  /// The share of a simulation that is done, as last reported.
  [[nodiscard]] std::optional<double> simulated() const { return simulated_; }

  /// Reads what is there without waiting, or kills the process when its time is up. True: it has ended.
  bool advance();

  /// Once ended. `failed` is set when there is nothing usable.
  [[nodiscard]] Answer answer() const;
  [[nodiscard]] std::chrono::nanoseconds wall() const { return ended_ - started_; }

private:
  RunProcess(const Job& job, const Execution& how, std::pair<process::Pipe, process::Pipe> pipes);
  [[nodiscard]] std::string with_last_words(std::string reason) const;
  /// What is left of the limit; nothing where there is none.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> left() const;
  [[nodiscard]] std::string ending() const;

  const Job* job_;
  std::string run_;
  bool native_;
  std::optional<std::chrono::milliseconds> limit_; ///< wall time of a native run, else CPU time
  std::chrono::steady_clock::time_point started_, ended_;
  process::Child child_;
  process::Fd out_, err_;
  std::string answer_, words_;
  process::Exit exit_;
  std::optional<double> simulated_;
};

} // namespace recount::sweep
