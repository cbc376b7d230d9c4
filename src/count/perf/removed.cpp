#include "count/perf/removed.hpp"

#include "base/format.hpp"
#include "base/process/child.hpp"
#include "count/perf/try_open.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

namespace recount::perf {
namespace {
using std::chrono::nanoseconds;

#if defined(__SANITIZE_ADDRESS__) // execve(2) takes down a process of 200 MiB, in 10 ms or more
constexpr double seen_of_removed = 0.012;
constexpr nanoseconds noticeable{29'000'000};
#else
constexpr double seen_of_removed = 0.05; ///< at most: the rest of execve(2)
constexpr nanoseconds noticeable{10'000'000};
#endif
constexpr double seen_of_all = 0.9; ///< at least: all but the beginning of execve(2) and the exit
constexpr nanoseconds of_switch{
    100'000}; ///< not counted, at most; 10 to 33 us were measured in a virtual machine

double times(double part, nanoseconds of) {
  return part * static_cast<double>(of.count());
}
std::string milliseconds(nanoseconds time) {
  const double ms = times(1e-6, time);
  return ms < 1000 ? fmt::format("{:.3g} ms", ms) : fmt::format("{:.0f} ms", ms);
}
} // namespace

bool removed(nanoseconds enabled, nanoseconds used) {
  return times(1, enabled) < times(seen_of_removed, used);
}

Reason removed_reason(nanoseconds enabled, nanoseconds used) {
  return fmt::format(
      "Linux removed the counters after {} of {} of processor time, because it executed a program "
      "that is set-user-ID or set-group-ID, has capabilities, or may not be read",
      milliseconds(enabled), milliseconds(used));
}

bool removed_at_exec(const std::string& program) {
  const std::string file = process::find_program(program).value_or("");
  struct stat of {};
  if (::stat(file.c_str(), &of) != 0) return false;
  if (::access(file.c_str(), R_OK) != 0) return true;
  struct statvfs mounted {};
  const bool ignored = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
                       (::statvfs(file.c_str(), &mounted) == 0 && (mounted.f_flag & ST_NOSUID) != 0);
  if (ignored) return false;
  return ((of.st_mode & S_ISUID) != 0 && of.st_uid != ::getuid()) ||
         ((of.st_mode & S_ISGID) != 0 && (of.st_mode & S_IXGRP) != 0 && of.st_gid != ::getgid());
}

std::string counted_in_part(nanoseconds enabled, nanoseconds used, std::uint64_t switches) {
  const nanoseconds missing = used - enabled;
  if (times(1, enabled) >= times(seen_of_all, used) || missing < noticeable || missing < of_switch * switches)
    return {};
  return fmt::format("incomplete: counted in {} of {} of processor time", milliseconds(enabled),
                     milliseconds(used));
}

void Removals::add(const Record& record) {
  if (const auto* name = std::get_if<Name>(&record); name != nullptr && name->exec) {
    starting_[name->pid] = {name->pid, std::string(name->name), !started_.contains(name->pid)};
  } else if (const auto* mapping = std::get_if<Mapping>(&record)) {
    if (starting_.erase(mapping->pid) > 0) started_.insert(mapping->pid);
  } else if (const auto* end = std::get_if<End>(&record); end != nullptr && end->pid == end->tid) {
    if (const auto at = starting_.find(end->pid); at != starting_.end()) {
      programs_.push_back(std::move(at->second));
      starting_.erase(at);
    }
    started_.erase(end->pid);
  }
}

std::string removed_in_part(const Removals& removals, nanoseconds counted, nanoseconds used) {
  const auto& programs = removals.programs();
  if (programs.empty()) return {};
  const std::string part = used <= nanoseconds(0) ? ""
                                                  : fmt::format("counted in {} of {} of processor time; ",
                                                                milliseconds(counted), milliseconds(used));
  return fmt::format(
      "incomplete: {}Linux removed the counters of {} ({}{}): set-user-ID or set-group-ID, with "
      "capabilities, or not readable",
      part, base::format_count(programs.size(), "program"), programs.size() > 1 ? "the first: " : "",
      programs.front().name);
}

namespace {
std::size_t page_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
} // namespace

// perf_poll() in kernel/events/core.c: an event without a buffer is always hung up, one with a buffer once
// its task and all that inherited it have ended. An inherited event has a buffer only when it is bound to a
// CPU; its task's end counts wherever it runs.
Descendants::Descendants(pid_t pid) {
  perf_event_attr attr = dummy_attr();
  attr.inherit = 1;
  fd_ = open_sized(attr, {pid, std::max(::sched_getcpu(), 0), -1}).fd;
  if (!fd_) return;
  page_ = ::mmap(nullptr, page_size(), PROT_READ, MAP_SHARED, fd_.get(), 0);
  if (page_ == MAP_FAILED) page_ = nullptr;
}

Descendants::~Descendants() {
  if (page_ != nullptr) ::munmap(page_, page_size());
}

bool Descendants::any() const {
  pollfd now{fd_.get(), POLLIN, 0};
  return page_ != nullptr && ::poll(&now, 1, 0) >= 0 && (now.revents & POLLHUP) == 0;
}

} // namespace recount::perf
