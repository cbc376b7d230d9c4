// Without a system call: the counter's register and the kernel's page about it.
#include "cost/routes.hpp"

#include <recount/error.hpp>
#include <recount/user_read.hpp>

namespace recount::cost {
namespace {

/// Class UserRead.
class UserReadRoute : public Route {
public:
  UserReadRoute(const std::vector<Event>& events, bool times)
      : times_(times), read_(events), values_(events.size()) {
    read_.start();
    static_cast<void>(read_.values(values_));
    if (read_.direct() == 0)
      throw unavailable(events.front().name, "cannot be read in user space here", {}, "recount doctor");
    read_.stop();
  }

  std::vector<Step> steps() override {
    const auto start = [this] { read_.start(); };
    const auto stop = [this] { read_.stop(); };
    if (!times_)
      return {repeated(
          op_read, start, [this] { sink_ = read_.values(values_); }, stop)};
    return {repeated(
        op_read, start,
        [this] {
          for (std::size_t i = 0; i < values_.size(); ++i)
            sink_ = read_.read(i).value.has_value();
        },
        stop)};
  }

private:
  bool times_;
  UserRead read_;
  std::vector<std::uint64_t> values_;
  volatile bool sink_ = false;
};

} // namespace

std::unique_ptr<Route> open_user_reads(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<UserReadRoute>(subject.events, true);
}

std::unique_ptr<Route> open_user_values(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<UserReadRoute>(subject.events, false);
}

} // namespace recount::cost
