// Events as the tests of the simulated PMU open them, without any of recount's counter layer.
#pragma once

#include "kernel/kernel.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <linux/perf_event.h>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace recount::test {

/// A descriptor that closes itself; or the errno of what failed.
class EventFd {
public:
  EventFd(const perf_event_attr& attr, pid_t pid = 0, int cpu = -1, int group = -1, unsigned long flags = 0);
  EventFd(EventFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), error_(other.error_) {}
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;
  ~EventFd() { close(); }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] int error() const { return error_; }
  void close();
  int control(unsigned long request, unsigned long argument = 0) const;
  /// The 64-bit words of one read; empty at end of file or on an error, see error().
  [[nodiscard]] std::vector<std::uint64_t> words(std::size_t most = 64);
  [[nodiscard]] std::uint64_t value() { return words().at(0); }
  [[nodiscard]] std::uint64_t id() const;

private:
  int fd_ = -1, error_ = 0;
};

[[nodiscard]] perf_event_attr software(std::uint64_t config = PERF_COUNT_SW_TASK_CLOCK);
[[nodiscard]] perf_event_attr hardware(std::uint64_t config = PERF_COUNT_HW_INSTRUCTIONS);
[[nodiscard]] perf_event_attr raw(std::uint64_t config);

/// Whether this program runs on a simulated machine, of that name if one is given.
[[nodiscard]] bool simulated(const std::string& machine = {});
/// A case with this decorator is skipped, with the reason, on other machines: BOOST_AUTO_TEST_CASE(hybrid,
/// *only_on("adl")).
inline auto only_on(const char* machine) {
  return boost::unit_test::precondition([machine](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(simulated(machine));
    result.message() << "a case of " << machine << ", which another run of these cases emulates";
    return result;
  });
}
/// Name of the simulated machine; empty outside of one.
[[nodiscard]] std::string machine_name();

/// Executes N iterations of `integer --operation add`: 18 instructions per iteration and 3 more.
void add_turns(std::int64_t turns);
inline constexpr double instructions_a_turn = 18, instructions_besides = 3;
/// Any block: "float_add_f64_128".
void execute_block(const std::string& name, std::int64_t turns);

using Encoder = std::function<perf_event_attr(const std::string& event)>;

/// Counts of the events in the region, as many at once as fit into one group, with the overhead of starting
/// and stopping. Lacks what no counter takes.
std::map<std::string, std::int64_t> count_all(std::vector<std::string> events, const Encoder& encode,
                                              const kernel::Region& region);

} // namespace recount::test
