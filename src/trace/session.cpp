#include "trace/session.hpp"

#include <fmt/format.h>

namespace recount::trace {

Session::Session(const model::MachineDescription& machine)
    : machine_(machine), totals_(machine), thread_([this] { simulate(); }) {}

Session::~Session() {
  join();
}

void Session::join() {
  ended_ = true;
  if (thread_.joinable()) thread_.join();
}

void Session::simulate() {
  constexpr int patience_ms = 50;
  using Process = Decoder<Simulated>;
  const Channel::Begin begin = [this] {
    return std::make_unique<Process>(blocks_, std::make_unique<Simulated>(machine_, totals_));
  };
  const Channel::End end = [](Reader& process) { dynamic_cast<Process&>(process).sink().end(); };
  try {
    while (!ended_)
      channel_.read(begin, end, patience_ms);
    outlived_ = channel_.finish(begin, end);
  } catch (...) {
    failed_ = std::current_exception();
    channel_.close(); // the program runs on
  }
}

const Totals& Session::finish() {
  join();
  if (failed_) std::rethrow_exception(failed_);
  return totals_;
}

std::string Session::incomplete() const {
  if (outlived_ > 0)
    return fmt::format("{} descendant{} still ran when the command ended: simulated up to then", outlived_,
                       outlived_ == 1 ? "" : "s");
  if (channel_.untraced() > 0)
    return fmt::format("{} of its processes were not simulated: more than {} at a time", channel_.untraced(),
                       static_cast<int>(RT_SLOTS));
  if (channel_.damaged() > 0) return "the program has overwritten the memory of the simulation: incomplete";
  return {};
}

} // namespace recount::trace
