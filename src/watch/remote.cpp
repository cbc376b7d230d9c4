#include "watch/view.hpp"

#include "process/waiter.hpp"
#include "watch/address.hpp"
#include "watch/viewer.hpp"

#include <csignal>
#include <poll.h>
#include <recount/error.hpp>

namespace recount::watch {
namespace {

class RemoteWatch {
public:
  RemoteWatch(const std::string& address, const ViewSettings& settings)
      : address_(address), view_(settings), socket_(watch::connect_to(address)) {}

  int run() {
    bool stopped = false;
    while (!stopped && !ended_ && state_ == watch::LineReader::State::open)
      stopped = turn();
    view_.finish();
    view_.check();
    if (stopped || ended_) return 0;
    if (state_ == watch::LineReader::State::nonsense)
      throw bad_input(address_, "sent an invalid line",
                      "connect to a recount watch --listen of the same version");
    throw unavailable(address_, "the connection was closed before the end");
  }

private:
  /// True: enough.
  bool turn() {
    std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
    view_.polled(polled);
    ::poll(polled.data(), polled.size(), -1);
    if (const int signal = process::hand_on(signals_, nullptr); signal != 0) {
      if (signal == SIGHUP) view_.hang_up();
      return true;
    }
    if (polled[1].revents != 0)
      state_ = reader_.read(socket_.get(), [this](const watch::Message& message) {
        view_.add(message);
        ended_ = ended_ || std::holds_alternative<watch::End>(message);
      });
    view_.ready();
    return view_.quit() || view_.gone();
  }

  const std::string& address_;
  process::HeldSignals signals_;
  WatchView view_;
  process::Fd socket_;
  watch::LineReader reader_;
  watch::LineReader::State state_ = watch::LineReader::State::open;
  bool ended_ = false;
};

} // namespace

int watch_remotely(const std::string& address, const ViewSettings& settings) {
  return RemoteWatch(address, settings).run();
}

} // namespace recount::watch
