// The system calls, without a library.
#include "cost/routes.hpp"

#include "perf/errno_hints.hpp"
#include "perf/try_open.hpp"

#include <array>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recount::cost {
namespace {

constexpr std::size_t most = 16; // events of a group here

class RawRoute : public Route {
public:
  RawRoute(std::vector<Event> events, bool flag) : flag_(flag ? 1UL : 0UL), events_(std::move(events)) {
    open();
  }

  std::vector<Step> steps() override {
    const auto nothing = [] {};
    const auto start = [this] { ::ioctl(leader_, PERF_EVENT_IOC_ENABLE, flag_); };
    const auto stop = [this] { ::ioctl(leader_, PERF_EVENT_IOC_DISABLE, flag_); };
    const auto read = [this] { words_ = ::read(leader_, now_.data(), sizeof now_); };
    // Reset by keeping the last values: one subtraction per event.
    const auto from_here = [this] {
      for (std::size_t i = 0; i < fds_.size(); ++i) {
        values_[i] = now_[header + i] - base_[i];
        base_[i] = now_[header + i];
      }
    };
    std::vector<Step> all{single(op_start, nothing, start, stop), single(op_stop, start, stop, nothing),
                          repeated(
                              op_cycle, nothing,
                              [=] {
                                start();
                                stop();
                                read();
                                from_here();
                              },
                              nothing)};
    if (flag_ != 0) return all; // the rest is the same without the flag
    all.push_back(repeated(
        op_open, [this] { close(); },
        [this] {
          open();
          close();
        },
        [this] { open(); }));
    all.push_back(repeated(op_read, start, read, stop));
    all.push_back(repeated(
        op_read_reset, start,
        [=] {
          read();
          from_here();
        },
        stop));
    all.push_back(repeated(
        op_reset, start, [this] { ::ioctl(leader_, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP); }, stop));
    return all;
  }

private:
  static constexpr std::size_t header = 3; // number of events, both times

  void open() {
    for (const Event& event : events_) {
      perf_event_attr attr = event.attr;
      attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      // Siblings that are enabled follow their leader; with the flag each is switched by itself.
      attr.disabled = fds_.empty() || flag_ != 0;
      auto attempt = perf::open_sized(attr, {0, -1, fds_.empty() ? -1 : leader_});
      if (!attempt.fd) throw perf::open_error(event, attempt.error);
      if (fds_.empty()) leader_ = attempt.fd.get();
      fds_.push_back(std::move(attempt.fd));
    }
  }
  void close() { fds_.clear(); }

  static_assert(PERF_IOC_FLAG_GROUP == 1);
  unsigned long flag_;
  std::vector<Event> events_;
  std::vector<process::Fd> fds_;
  int leader_ = -1;
  ssize_t words_ = 0;
  std::array<std::uint64_t, header + most> now_{};
  std::array<std::uint64_t, most> base_{}, values_{};
};

std::unique_ptr<Route> open_raw(const std::vector<Event>& events, bool flag) {
  if (events.size() > most) throw bad_input("cost", "more than 16 events per group", "use fewer events");
  return std::make_unique<RawRoute>(events, flag);
}

} // namespace

std::unique_ptr<Route> open_perf(const Subject& subject, Domain /*domain*/) {
  return open_raw(subject.events, false);
}

std::unique_ptr<Route> open_perf_flag(const Subject& subject, Domain /*domain*/) {
  return open_raw(subject.events, true);
}

} // namespace recount::cost
