#include "trace/session.hpp"

#include "base/format.hpp"

#include <fmt/format.h>
#include <utility>

namespace recount::trace {

Session::Session(Channel::Begin begin, Channel::End end)
    : begin_(std::move(begin)), end_(std::move(end)), thread_([this] { read(); }) {}

Session::~Session() {
  join();
}

void Session::join() {
  ended_ = true;
  channel_.wake();
  if (thread_.joinable()) thread_.join();
}

void Session::read() {
  constexpr int patience_ms = 50;
  try {
    while (!ended_)
      channel_.read(begin_, end_, patience_ms);
    outlived_ = channel_.finish(begin_, end_);
  } catch (...) {
    failed_ = std::current_exception();
    channel_.close(); // the program runs on
  }
}

void Session::finish() {
  join();
  if (failed_) std::rethrow_exception(failed_);
}

std::string Session::incomplete() const {
  if (outlived_ > 0)
    return base::format_count(outlived_, "descendant") +
           " still ran when the command ended: simulated up to then";
  if (channel_.untraced() > 0)
    return fmt::format(
        "{} not simulated: more than {} at a time",
        base::format_count(channel_.untraced(), "of its processes was", "of its processes were"),
        static_cast<int>(RT_SLOTS));
  if (channel_.damaged() > 0) return "the program has overwritten the memory of the simulation: incomplete";
  return {};
}

} // namespace recount::trace
