#include "events.hpp"

#include "kernel/blocks/block.hpp"
#include "kernel/blocks/block_kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::test {
namespace {

perf_event_attr any(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

} // namespace

EventFd::EventFd(const perf_event_attr& attr, pid_t pid, int cpu, int group, unsigned long flags) {
  fd_ = static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, group, flags));
  if (fd_ < 0) error_ = errno;
}
void EventFd::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}
int EventFd::control(unsigned long request, unsigned long argument) const {
  return ::ioctl(fd_, request, argument) == 0 ? 0 : errno;
}
std::vector<std::uint64_t> EventFd::words(std::size_t most) {
  std::vector<std::uint64_t> all(most);
  const ssize_t got = ::read(fd_, all.data(), all.size() * sizeof all[0]);
  error_ = got < 0 ? errno : 0;
  all.resize(got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof all[0]);
  return all;
}
std::uint64_t EventFd::id() const {
  std::uint64_t id = 0;
  control(PERF_EVENT_IOC_ID, reinterpret_cast<unsigned long>(&id));
  return id;
}

perf_event_attr software(std::uint64_t config) {
  return any(PERF_TYPE_SOFTWARE, config);
}
perf_event_attr hardware(std::uint64_t config) {
  return any(PERF_TYPE_HARDWARE, config);
}
perf_event_attr raw(std::uint64_t config) {
  return any(PERF_TYPE_RAW, config);
}

bool simulated(const std::string& machine) {
  const std::string name = machine_name();
  return machine.empty() ? !name.empty() : machine == name;
}

std::string machine_name() {
  const char* const file = std::getenv("RECOUNT_PMU_MACHINE");
  return file == nullptr ? "" : std::filesystem::path(file).stem().string();
}

void add_turns(std::int64_t turns) {
  execute_block("integer_add", turns);
}

void execute_block(const std::string& name, std::int64_t turns) {
  for (const auto& block : kernel::native::blocks()) {
    if (block.name != name) continue;
    alignas(64) static std::byte data[4096];
    kernel::lay_out(kernel::Data::ones, false, data);
    kernel::native::BlockArguments context{turns, data, 0, 0};
    block.code(&context);
    return;
  }
  throw std::runtime_error("no block " + name);
}

std::map<std::string, std::int64_t> count_all(std::vector<std::string> events, const Encoder& encode,
                                              const kernel::Region& region) {
  std::map<std::string, std::int64_t> counts;
  while (!events.empty()) {
    std::vector<EventFd> group;
    std::vector<std::string> names, later;
    for (const std::string& event : events) {
      perf_event_attr attr = encode(event);
      attr.size = sizeof attr;
      attr.read_format = PERF_FORMAT_GROUP;
      attr.exclude_hv = 1;
      attr.disabled = group.empty() ? 1 : 0;
      EventFd fd(attr, 0, -1, group.empty() ? -1 : group.front().fd());
      if (fd.error() != 0) {
        later.push_back(event);
        continue;
      }
      group.push_back(std::move(fd));
      names.push_back(event);
    }
    if (group.empty()) break;
    group.front().control(PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
    group.front().control(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    region();
    group.front().control(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    const auto words = group.front().words(names.size() + 1);
    for (std::size_t i = 0; i < names.size(); ++i)
      counts[names[i]] = static_cast<std::int64_t>(words.at(i + 1));
    events = later;
  }
  return counts;
}

} // namespace recount::test
