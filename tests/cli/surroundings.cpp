#include "surroundings.hpp"

#include "../host/papi/no_papi.hpp"
#include "needs.hpp"

#include "base/process/child.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <linux/perf_event.h>
#include <regex>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::test {
namespace {
using namespace std::chrono_literals;

/// Opens an event straight from the kernel, so that a fault of recount cannot hide itself. 0 or the errno.
int try_open(std::uint32_t type, std::uint64_t config, bool kernel_too) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = !kernel_too;
  attr.exclude_hv = !kernel_too;
  const long fd = ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  if (fd < 0) return errno;
  ::close(static_cast<int>(fd));
  return 0;
}

int try_open_as_nobody(bool kernel_too) {
  const auto got = process::in_fork(
      [kernel_too](int) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) return 255;
        return try_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, kernel_too);
      },
      20s);
  return got.exit.code;
}

std::string unless(bool condition, const std::string& reason) {
  return condition ? std::string() : reason;
}
} // namespace

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set: run this by meson test");
  return value;
}

std::string cpu_in_tables() {
  const char* const program = std::getenv("RECOUNT");
  process::Spawn spawn;
  spawn.argv = {program ? program : "recount", "presets", "--json"};
  const auto answer = process::capture(spawn, {}, 20s);
  std::smatch found;
  const std::regex cpu(R"x("cpu": "([^"]*)")x");
  return std::regex_search(answer.out, found, cpu) ? found[1].str() : std::string();
}

std::string missing(const std::string& need) {
  const int cycles = try_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
  if (need == "core PMU")
    return unless(cycles == 0, std::string("no core PMU here: ") + std::strerror(cycles));
  if (need == "no core PMU" && cycles != 0 && cycles != ENOENT)
    return std::string("hardware events cannot be tried here: ") + std::strerror(cycles);
  if (need == "no core PMU") return unless(cycles == ENOENT, "this machine has a core PMU");
  if (need == "gnuplot" || need == "python3")
    return unless(process::find_program(need).has_value(), need + " is not installed");
  if (need == "figures") return unless(RECOUNT_FIGURES != 0, "recount was built without figures");
  if (need == "tables of x86 CPUs") {
#if defined(__x86_64__) || defined(__i386__)
    return {};
#else
    return "libpfm4 knows x86 CPUs on x86 only";
#endif
  }
  if (need == "a CPU that tables can name")
    return unless(!cpu_in_tables().empty(),
                  "libpfm4 does not know this CPU, so that PAPI reads no rows for it");
  if (need == "root") return unless(::geteuid() == 0, "not root");
  if (need == "software events") return no_software_events();
  if (need == "a task clock") { // where software events count nothing on purpose
    const int clock = try_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
    return unless(clock == 0, std::string("no task clock here: ") + std::strerror(clock));
  }
  if (need == "breakpoints") return no_breakpoints();
  if (need == "PAPI events") return no_papi();
  if (need == "probes on functions") {
    if (::geteuid() != 0) return "not root, who alone may place probes";
    return unless(std::filesystem::exists("/sys/bus/event_source/devices/uprobe"),
                  "this Linux has no uprobes");
  }
  if (need == "no debugfs")
    return unless(::access("/sys/kernel/debug/tracing/events", R_OK) != 0 &&
                      ::access("/sys/kernel/tracing/events", R_OK) != 0,
                  "tracefs is mounted here");
  if (need == "set-user-ID programs") {
    if (::geteuid() != 0) return "not root, who alone can make a program of another user";
    struct statvfs folder {};
    if (::statvfs(std::filesystem::temp_directory_path().c_str(), &folder) == 0 &&
        (folder.f_flag & ST_NOSUID) != 0)
      return "the folder for temporary files is mounted nosuid";
    int dumpable = 0;
    std::ifstream("/proc/sys/fs/suid_dumpable") >> dumpable;
    return unless(dumpable != 1, "fs.suid_dumpable = 1: Linux keeps counting set-user-ID programs");
  }
  if (need == "the time stamp counter") {
    if (::geteuid() != 0) return "not root, who alone may count it everywhere";
    return unless(std::filesystem::exists("/sys/bus/event_source/devices/msr/events/tsc"),
                  "this Linux does not count the time stamp counter");
  }
  if (need == "nobody may not count the kernel") {
    if (::geteuid() != 0) return "not root, so that nobody cannot be tried";
    return unless(try_open_as_nobody(true) == EACCES, "here even nobody may count the kernel");
  }
  if (need == "no sanitizer") {
#if defined(__SANITIZE_ADDRESS__)
    return "AddressSanitizer makes recount larger than the command";
#else
    return {};
#endif
  }
  throw std::runtime_error("unknown need: " + need);
}

Folder::Folder() {
  ::chmod(path_.c_str(), 0777);
}

} // namespace recount::test
