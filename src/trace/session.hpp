// A traced run: its memory, and the thread that simulates while the program executes.
#pragma once

#include "trace/channel.hpp"
#include "trace/simulation.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <thread>

namespace recount::trace {

/// Simulates every process of one command. The thread begins at construction; it receives no signals if the
/// constructing thread blocks them.
class Session {
public:
  /// Throws recount::Error (unavailable).
  explicit Session(const model::MachineDescription& machine);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] std::string channel() const { return channel_.name(); }
  /// After the command has ended, once: simulates the rest. Rethrows what the simulation threw.
  [[nodiscard]] const Totals& finish();
  /// After finish(): what is missing from the totals; empty: nothing known.
  [[nodiscard]] std::string incomplete() const;

private:
  void simulate();
  void join();

  model::MachineDescription machine_;
  Totals totals_;
  Blocks blocks_;
  Channel channel_;
  std::atomic<bool> ended_ = false;
  int outlived_ = 0;
  std::exception_ptr failed_;
  std::thread thread_;
};

} // namespace recount::trace
