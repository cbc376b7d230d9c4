// This library: class Group.
#include "cost/routes.hpp"

#include <recount/group.hpp>

#include <optional>
#include <utility>

namespace recount::cost {
namespace {

class GroupRoute : public Route {
public:
  explicit GroupRoute(std::vector<Event> events) : events_(std::move(events)), group_(events_) {}

  std::vector<Step> steps() override {
    const auto nothing = [] {};
    const auto start = [this] { group_->start(); };
    const auto stop = [this] { group_->stop(); };
    const auto read = [this] { group_->read(); };
    return {repeated(
                op_open, [this] { group_.reset(); },
                [this] {
                  group_.emplace(events_);
                  group_.reset();
                },
                [this] { group_.emplace(events_); }),
            single(op_start, nothing, start, stop),
            single(op_stop, start, stop, nothing),
            repeated(op_read, start, read, stop),
            repeated(
                op_reset, start, [this] { group_->reset(); }, stop),
            repeated(
                op_read_reset, start, [this] { group_->read_and_reset(); }, stop),
            repeated(
                op_cycle, nothing,
                [this] {
                  group_->reset();
                  group_->start();
                  group_->stop();
                  group_->read();
                },
                nothing)};
  }

private:
  std::vector<Event> events_;
  std::optional<Group> group_;
};

} // namespace

std::unique_ptr<Route> open_recount(const Subject& subject, Domain /*domain*/) {
  return std::make_unique<GroupRoute>(subject.events);
}

} // namespace recount::cost
