// A traced run: its memory, and the thread that reads it while the program executes.
#pragma once

#include "trace/channel.hpp"

#include <atomic>
#include <exception>
#include <string>
#include <thread>

namespace recount::trace {

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
  /// After the command has ended, once: reads the rest. Rethrows what the readers threw.
  void finish();
  /// After finish(): what is missing; empty: nothing known.
  [[nodiscard]] std::string incomplete() const;

private:
  void read();
  void join();

  Channel::Begin begin_;
  Channel::End end_;
  Channel channel_;
  std::atomic<bool> ended_ = false;
  int outlived_ = 0;
  std::exception_ptr failed_;
  std::thread thread_;
};

} // namespace recount::trace
