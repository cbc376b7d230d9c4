// Without a system call: the counter's register and the kernel's page about it.
#include "cost/routes.hpp"

#include <recount/error.hpp>
#include <recount/user_read.hpp>

namespace recount::cost {
namespace {

/// class UserRead, one for each event.
class UserReadRoute : public Route {
public:
  UserReadRoute(const std::vector<Event>& events, bool times) : times_(times) {
    for (const Event& event : events) {
      auto& one = reads_.emplace_back(event);
      one.start();
      sink_ = one.read().value.value_or(0);
      if (one.direct() == 0)
        throw unavailable(event.name, "cannot be read in user space here", {}, "recount doctor");
      one.stop();
    }
  }

  std::vector<Step> steps() override {
    const auto start = [this] {
      for (auto& one : reads_)
        one.start();
    };
    const auto stop = [this] {
      for (auto& one : reads_)
        one.stop();
    };
    if (!times_)
      return {repeated(
          op_read, start,
          [this] {
            for (auto& one : reads_)
              sink_ = one.value().value_or(0);
          },
          stop)};
    return {repeated(
        op_read, start,
        [this] {
          for (auto& one : reads_)
            sink_ = one.read().value.value_or(0);
        },
        stop)};
  }

private:
  bool times_;
  std::vector<UserRead> reads_;
  volatile std::uint64_t sink_ = 0;
};

} // namespace

std::unique_ptr<Route> open_user_reads(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<UserReadRoute>(subject.events, true);
}

std::unique_ptr<Route> open_user_values(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<UserReadRoute>(subject.events, false);
}

} // namespace recount::cost
