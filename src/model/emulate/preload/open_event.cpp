#include "model/emulate/preload/open_event.hpp"

#include "model/emulate/encoding.hpp"
#include "model/emulate/preload/account.hpp"
#include "model/emulate/preload/sample.hpp"
#include "model/emulate/preload/user_page.hpp"
#include "model/emulate/real.hpp"
#include "model/emulate/settings.hpp"
#include "model/emulate/slot.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <linux/capability.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::emulate {

bool privileged() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (real::syscall(SYS_capget, reinterpret_cast<long>(&header), reinterpret_cast<long>(data)) != 0)
    return false;
  const auto has = [&](unsigned capability) {
    return ((data[capability / 32].effective >> capability % 32) & 1) != 0;
  };
  return has(CAP_PERFMON) || has(CAP_SYS_ADMIN);
}

// perf_allow_kernel(), perf_allow_cpu() of include/linux/perf_event.h and kernel/events/core.c; levels above
// 2 are patches of Debian ("perf: Add parameter to disallow all unprivileged perf_event_open use") and
// Ubuntu.
int refused_by_level(const perf_event_attr& attr, pid_t pid) {
  const auto& level = settings().paranoid;
  if (!level || privileged()) return 0;
  constexpr int no_cpus = 0, no_kernel = 1, nothing = 2;
  if (*level > nothing) return EACCES;
  if (*level > no_kernel && attr.exclude_kernel == 0) return EACCES;
  if (*level > no_cpus && pid == -1) return EACCES;
  return 0;
}

namespace {

constexpr const char* pipe_link = "pipe:[";

/// perf_copy_attr() of kernel/events/core.c: sizes, and zeros beyond what is known.
int size_error(perf_event_attr& given) {
  const std::size_t size = given.size == 0 ? PERF_ATTR_SIZE_VER0 : given.size;
  constexpr std::size_t most = 4096;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  const bool fits = size >= PERF_ATTR_SIZE_VER0 && size <= most;
  if (fits && (size <= sizeof given ||
               std::all_of(bytes + sizeof given, bytes + size, [](auto b) { return b == 0; })))
    return 0;
  given.size = sizeof given;
  return E2BIG;
}

int attribute_error(const perf_event_attr& attr, pid_t pid, int cpu, unsigned long flags) {
  constexpr unsigned long known_flags =
      PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC;
  constexpr std::uint64_t highest = std::uint64_t{1} << 63;
  if ((flags & ~known_flags) != 0 || (attr.read_format & ~std::uint64_t{PERF_FORMAT_MAX - 1}) != 0 ||
      (attr.sample_type & ~std::uint64_t{PERF_SAMPLE_MAX - 1}) != 0 || (attr.sample_period & highest) != 0 ||
      (pid == -1 && cpu == -1) || cpu < -1 || cpu >= sysconf(_SC_NPROCESSORS_CONF))
    return EINVAL;
  if (pid == -1) return EACCES; // a whole CPU: Linux would ask for a privilege
  char name[32];
  std::snprintf(name, sizeof name, "/proc/%d", pid);
  const bool exists =
      pid == 0 || (pid > 0 && real::syscall(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(name), 0) == 0);
  return exists ? 0 : ESRCH;
}

/// A group counts one target, and its leader leads itself.
int check_group(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd) {
  if (group_fd == -1) return 0;
  const std::int32_t leader = find_slot(group_fd);
  if (leader < 0) return EBADF;
  const Locked shared;
  const Slot& slot = shared->slots[leader];
  const pid_t target = pid == 0 ? real::gettid() : pid;
  const bool fits =
      slot.leader == leader && slot.target == target && slot.cpu == cpu && !attr.pinned && !attr.exclusive;
  return fits ? 0 : EINVAL;
}

/// A pipe that holds both ends of itself: it never becomes readable, and its number in /proc is its own.
int open_pipe(bool close_on_exec) {
  int ends[2];
  if (real::syscall(SYS_pipe2, reinterpret_cast<long>(ends), O_CLOEXEC) != 0) return -1;
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
  const long both = real::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(name),
                                  O_RDWR | (close_on_exec ? O_CLOEXEC : 0));
  const int error = errno;
  for (const int end : ends)
    real::close(end);
  errno = error;
  return static_cast<int>(both);
}

/// Opens a descriptor where perf_event_open(2) is refused to everybody, as by the seccomp profile of
/// containers: a pipe stands for the event of Linux that is otherwise behind each, after the checks that
/// Linux makes of any event. -1 and errno else. `given`: as many bytes as it states; `attr`: the known part
/// of them.
long open_unbacked(perf_event_attr& given, const perf_event_attr& attr, pid_t pid, int cpu, int group_fd,
                   unsigned long flags) {
  int error = size_error(given);
  if (error == 0) error = attribute_error(attr, pid, cpu, flags);
  if (error == 0) error = check_group(attr, pid, cpu, group_fd);
  if (error == 0) return open_pipe((flags & PERF_FLAG_FD_CLOEXEC) != 0);
  return real::refuse(error);
}

/// Identifies the event of a descriptor in all processes; 0: none.
std::uint64_t unbacked_id(int fd) {
  struct stat file {};
  return real::syscall(SYS_fstat, fd, reinterpret_cast<long>(&file)) == 0 ? file.st_ino : 0;
}

/// Whether the target of a link in /proc/self/fd is such a descriptor, perhaps.
bool is_unbacked(const char* link) {
  return std::string_view(link).starts_with(pipe_link);
}

} // namespace

namespace {

long open_real(const perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  return real::syscall(SYS_perf_event_open, reinterpret_cast<long>(attr), pid, cpu, group_fd,
                       static_cast<long>(flags));
}

/// Whether an event of Linux's own belongs to a class of `--dead-class` or `--inject`: the name that perf(1)
/// gives a software event, breakpoint, tracepoint, hardware, or a PMU in sysfs.
bool of_class(const perf_event_attr& attr, const std::string& name) {
  if (name == "breakpoint") return attr.type == PERF_TYPE_BREAKPOINT;
  if (name == "tracepoint") return attr.type == PERF_TYPE_TRACEPOINT;
  if (name == "hardware")
    return attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE || attr.type == PERF_TYPE_RAW;
  for (const auto& [known, config] : software_classes)
    if (name == known) return attr.type == PERF_TYPE_SOFTWARE && attr.config == config;
  std::ifstream file("/sys/bus/event_source/devices/" + name + "/type");
  std::uint32_t type = 0;
  return file >> type && attr.type == type;
}

/// The error of the first injection into `call` whose event `concerns` accepts, while it has turns left.
template <typename F>
int injected_where(const char* call, F concerns) {
  const auto& all = settings().injections;
  for (std::size_t i = 0; i < all.size() && i < std::size(Shared{}.injected); ++i) {
    const Injection& one = all[i];
    if (one.call != call || !concerns(one.event)) continue;
    const Locked shared;
    if (one.times == 0 || shared->injected[i]++ < one.times) return one.error;
  }
  return 0;
}

int injected_for_class(const perf_event_attr& attr) {
  return injected_where("open",
                        [&](const std::string& name) { return name != "any" && of_class(attr, name); });
}

/// What opens in place of an event of a dead class: a breakpoint where no program can have memory
/// (vm.mmap_min_addr), so that Linux judges it as it judges the requested one; else an event that never
/// occurs.
void kill(perf_event_attr& attr) {
  if (attr.type == PERF_TYPE_BREAKPOINT) {
    constexpr std::uint64_t unused = 0x1000;
    attr.bp_addr = unused;
    return;
  }
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.config1 = attr.config2 = 0;
}

/// Opens the event behind one whose structure may be newer than this program's: Linux judges what is beyond
/// the known part (perf_copy_attr() of kernel/events/core.c: zeros, or a size that it knows).
long open_behind(const perf_event_attr& behind, const perf_event_attr& given, pid_t pid, int cpu,
                 int group_fd, unsigned long flags) {
  constexpr std::size_t most = 4096;
  const bool fits = given.size == 0 || (given.size >= PERF_ATTR_SIZE_VER0 && given.size <= most);
  if (given.size <= sizeof behind || !fits)
    return open_real(fits ? &behind : &given, pid, cpu, group_fd, flags); // Linux writes the size that it has
  alignas(perf_event_attr) std::array<unsigned char, most> all{};
  std::memcpy(all.data(), &given, given.size);
  std::memcpy(all.data(), &behind, sizeof behind);
  auto* const attr = reinterpret_cast<perf_event_attr*>(all.data());
  attr->size = given.size;
  return open_real(attr, pid, cpu, group_fd, flags);
}

/// Records of Linux, of mappings and threads, are sorted among samples by their time. Events of one group or
/// ring have one clock, also those without times in samples.
void use_clock_of_samples(perf_event_attr& attr) {
  const bool old = attr.size == 0 || (attr.size >= PERF_ATTR_SIZE_VER0 && attr.size < PERF_ATTR_SIZE_VER4);
  if (attr.use_clockid || (attr.size < PERF_ATTR_SIZE_VER0 && !old)) return;
  if (old) attr.size = PERF_ATTR_SIZE_VER4;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
}

/// Whether it would count what Valgrind or the host's CPU does, not what is emulated: switches of Valgrind's
/// threads, and PMUs in sysfs.
bool of_host(const perf_event_attr& attr) {
  return attr.type >= PERF_TYPE_MAX || of_class(attr, "context-switches");
}

/// An event of Linux's own. Where the simulated level allows what the real one does not, clocks and page
/// faults are opened for user mode alone: they count the same there.
long open_own(const perf_event_attr& given, perf_event_attr attr, pid_t pid, int cpu, int group_fd,
              unsigned long flags) {
  for (const std::string& name : settings().dead_classes) {
    if (!of_class(attr, name)) continue;
    kill(attr);
    return open_real(&attr, pid, cpu, group_fd, flags);
  }
  const bool timed = attr.type != PERF_TYPE_BREAKPOINT || (attr.sample_type & PERF_SAMPLE_TIME) != 0;
  if (exact() && timed) use_clock_of_samples(attr); // a breakpoint is modified by attributes that are equal
  const long fd = attr.use_clockid && !given.use_clockid ? open_behind(attr, given, pid, cpu, group_fd, flags)
                                                         : open_real(&given, pid, cpu, group_fd, flags);
  const bool same = attr.type == PERF_TYPE_SOFTWARE && attr.config <= PERF_COUNT_SW_PAGE_FAULTS;
  if (fd >= 0 && exact() && of_host(attr)) { // what Linux refuses of any event came first
    real::close(static_cast<int>(fd));
    return real::refuse(EOPNOTSUPP);
  }
  if (fd >= 0 || errno != EACCES || !settings().paranoid || !same) return fd;
  attr.exclude_kernel = 1;
  return open_real(&attr, pid, cpu, group_fd, flags);
}

/// Occurrences in a second of CPU time of a program that no kernel is known of.
double per_second(const Slot& slot) {
  static const Effect second(settings().machine.per_second);
  return compute_count(slot, second);
}
double per_second(const Encoding& encoding) {
  Slot slot;
  slot.pmu = encoding.pmu;
  slot.config = encoding.config;
  slot.config1 = encoding.config1;
  return per_second(slot);
}

/// The attributes that Linux reads: of as many bytes as the caller's structure has.
perf_event_attr known_part(const perf_event_attr& attr) {
  perf_event_attr copy{};
  const std::size_t size = attr.size == 0 ? PERF_ATTR_SIZE_VER0 : attr.size;
  std::memcpy(&copy, &attr, std::min(size, sizeof copy));
  return copy;
}

/// Whether Linux samples in place of the simulation, a clock as often as the event would occur: what another
/// thread executes is known here only afterwards.
bool sampled_by_linux(const perf_event_attr& attr, pid_t pid) {
  return !exact() && attr.sample_period != 0 && (pid != 0 || attr.inherit);
}

/// The software event that stands behind a simulated one.
perf_event_attr backing(perf_event_attr attr, const Encoding& encoding, pid_t pid) {
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = pid == -1 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;
  attr.config1 = attr.config2 = 0;
  attr.precise_ip = 0;
  if (!sampled_by_linux(attr, pid)) {
    attr.sample_period = 0;
    attr.freq = 0;
  } else if (!attr.freq && encoding.pmu >= 0) {
    constexpr double min_ns = 20'000;
    const double each = std::max(per_second(encoding), 1.0);
    attr.sample_period =
        static_cast<std::uint64_t>(std::max(min_ns, 1e9 * static_cast<double>(attr.sample_period) / each));
  }
  if (exact()) use_clock_of_samples(attr);
  attr.exclude_kernel = 1; // nothing is left for Linux to permit
  attr.wakeup_events = 0;
  attr.watermark = 0;
  if (attr.size > PERF_ATTR_SIZE_VER0) attr.size = std::min<std::uint32_t>(attr.size, sizeof attr);
  return attr;
}

const SimulatedPmu& pmu_of(int index) {
  return settings().machine.pmus[static_cast<std::size_t>(index)];
}

/// Whether the group could be scheduled on an empty PMU: validate_group() of arch/x86/events/core.c, which
/// leaves out siblings that are off.
int group_error(const Shared& shared, std::int32_t leader, const Encoding& encoding) {
  const SimulatedPmu& pmu = pmu_of(encoding.pmu);
  for (const SimulatedEvent* row : find_rows(pmu, encoding.config, encoding.config1))
    if (row->leader && (leader < 0 || decode_config(shared.slots[leader].config) != *row->leader))
      return EINVAL;
  std::vector<Demand> demands;
  if (leader >= 0)
    for (std::int32_t i = 0; i < shared.end; ++i) {
      const Slot& member = shared.slots[i];
      if (!member.used || !member.simulated || member.leader != leader) continue;
      if (member.pmu != encoding.pmu) return EINVAL; // two PMUs in one group
      if (i == leader || member.enabled) demands.push_back(demand(pmu, member.config, member.config1));
    }
  demands.push_back(demand(pmu, encoding.config, encoding.config1));
  return assign(pmu, demands, 0).empty() ? EINVAL : 0;
}

int attribute_error(const perf_event_attr& attr, const Encoding& encoding, pid_t pid, int cpu) {
  const SimulatedPmu& pmu = pmu_of(encoding.pmu);
  constexpr int max_precise = 3;
  if (attr.precise_ip > max_precise) return EOPNOTSUPP;
  if (attr.freq ? too_frequent(attr.sample_freq) : attr.sample_period >> 63 != 0) return EINVAL;
  const bool elsewhere = !pmu.cpus.empty() && cpu >= 0 && std::ranges::find(pmu.cpus, cpu) == pmu.cpus.end();
  if (elsewhere) return ENOENT; // x86_pmu_event_init()
  static_cast<void>(pid);
  return 0;
}

/// A PMU of one CPU of a hybrid machine counts there only. A backing event of that CPU has just its times;
/// all of a group have the same.
int backing_cpu(const Encoding& encoding, int cpu, int group_fd) {
  if (const std::int32_t leader = find_slot(group_fd); leader >= 0) {
    const Locked shared;
    if (shared->slots[leader].cpu == cpu) return shared->slots[leader].backing_cpu; // else Linux refuses it
  }
  const auto& cpus = pmu_of(encoding.pmu).cpus;
  return cpu < 0 && cpus.size() == 1 ? cpus.front() : cpu;
}

void fill(Slot& slot, const perf_event_attr& attr, pid_t pid, int cpu) {
  const auto self = real::gettid();
  slot.owner = real::getpid();
  slot.opener = self;
  slot.target = pid == 0 ? self : pid;
  slot.cpu = cpu;
  slot.foreign = slot.target != self;
  slot.inherit = attr.inherit != 0;
  slot.enable_on_exec = attr.enable_on_exec != 0;
  slot.pinned = attr.pinned != 0;
  slot.exclude_user = attr.exclude_user != 0;
  slot.exclude_kernel = attr.exclude_kernel != 0;
  slot.enabled = attr.disabled == 0;
  slot.read_format = attr.read_format;
  if (attr.sample_period == 0 || sampled_by_linux(attr, pid)) return;
  slot.period = attr.sample_period;
}

/// Of the event of Linux behind a descriptor; 0: there is none.
std::uint64_t event_id(int fd) {
  if (settings().unbacked) return unbacked_id(fd);
  std::uint64_t id = 0;
  return real::ioctl(fd, PERF_EVENT_IOC_ID, reinterpret_cast<unsigned long>(&id)) == 0 ? id : 0;
}

/// Whether the emulated clock takes the place of Linux's.
bool is_clock(const perf_event_attr& attr, pid_t pid) {
  return exact() && settings().emulated_time() && pid != -1 && attr.type == PERF_TYPE_SOFTWARE &&
         attr.config <= PERF_COUNT_SW_TASK_CLOCK && attr.sample_period == 0 && attr.exclude_user == 0 &&
         std::ranges::none_of(settings().dead_classes,
                              [&](const std::string& name) { return of_class(attr, name); });
}

/// What threads have executed that others read is published.
void watch(const perf_event_attr& attr, pid_t pid) {
  if (attr.inherit || (pid > 0 && pid != real::gettid())) request(RT_WATCHED);
}

/// Remembers an event that Linux has opened, or closes it where there is no room for it.
long remember(int fd, const perf_event_attr& attr, pid_t pid, int cpu, int behind_cpu, int group_fd,
              unsigned long flags, const std::optional<Encoding>& encoding) {
  const std::uint64_t id = event_id(fd);
  const Locked shared;
  const std::int32_t at = take_slot(*shared);
  if (at < 0) {
    real::close(fd);
    return real::refuse(EMFILE);
  }
  Slot& slot = shared->slots[at];
  fill(slot, attr, pid, cpu);
  slot.id = id;
  slot.clock = !encoding && is_clock(attr, pid);
  slot.backing_cpu = behind_cpu;
  const std::int32_t leader = find_slot(group_fd);
  slot.leader = leader >= 0 && (flags & PERF_FLAG_FD_NO_GROUP) == 0 ? leader : at;
  if ((flags & PERF_FLAG_FD_OUTPUT) != 0) slot.output = leader;
  if (encoding) {
    slot.simulated = true;
    slot.pmu = encoding->pmu;
    slot.config = encoding->config;
    slot.config1 = encoding->config1;
  }
  if (encoding && slot.period != 0) slot.period = period_of(slot, attr.freq != 0, attr.sample_freq);
  slot.next_sample = static_cast<double>(slot.period);
  slot.attr = attr;
  sampler(at) = {};
  sampler(at).fd = fd;
  set_slot(fd, at);
  return fd;
}

std::string event_name(const Encoding& encoding) {
  const auto rows = find_rows(pmu_of(encoding.pmu), encoding.config, encoding.config1);
  return rows.empty() ? "" : rows.front()->name;
}

int injected_for(const char* call, const std::string& event) {
  return injected_where(call, [&](const std::string& name) { return name == "any" || name == event; });
}

/// Whether the preload library is in the process or thread, as in all whose instructions are counted.
bool is_emulated(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("librecount-emulate") != line.npos) return true;
  return false;
}

/// Whether the machine has a rule for the event, and the rule something that one emulated core does: it has
/// no other that answers requests, and predicts all targets of direct branches.
bool has_rule(const Encoding& encoding) {
  using enum Quantity;
  Work probe;
  for (std::size_t i = 0; i < all_quantities; ++i)
    probe.of[i] = static_cast<double>(all_quantities + i);
  for (const Quantity none : {snoops, page_faults, branch_target_misses})
    probe[none] = 0;
  const SimulatedPmu& pmu = pmu_of(encoding.pmu);
  const std::vector<double> amounts = values(pmu, probe);
  return std::ranges::any_of(
      find_rows(pmu, encoding.config, encoding.config1),
      [&](const SimulatedEvent* row) { return row->changed || evaluate(row->count, amounts) != 0; });
}

/// Whether the count would be none: nobody knows what the kernel executes, or what a process does that is not
/// emulated; without a clock of Linux, also what another thread does with --fast.
bool uncountable(const perf_event_attr& attr, const Encoding& encoding, pid_t pid) {
  if (!exact()) return settings().unbacked && pid != 0 && pid != real::gettid();
  return encoding.pmu >= 0 &&
         (!has_rule(encoding) || attr.exclude_user != 0 || (pid > 0 && !is_emulated(pid)));
}

} // namespace

std::uint64_t period_of(const Slot& slot, bool frequency, std::uint64_t value) {
  if (!frequency) return value;
  return static_cast<std::uint64_t>(std::max(1.0, per_second(slot) / static_cast<double>(value)));
}

bool too_frequent(std::uint64_t frequency) {
  std::ifstream file("/proc/sys/kernel/perf_event_max_sample_rate");
  std::uint64_t most = 0;
  return file >> most && frequency > most;
}

int injected(const char* call, int slot) {
  if (settings().injections.empty() || slot < 0) return 0;
  Encoding encoding;
  {
    const Locked shared;
    const Slot& one = shared->slots[slot];
    if (!one.simulated) return 0;
    encoding = {one.pmu, one.config, one.config1, 0};
  }
  return injected_for(call, event_name(encoding));
}

long open_event(perf_event_attr* given, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  if (given == nullptr) return open_real(given, pid, cpu, group_fd, flags);
  const perf_event_attr attr = known_part(*given);
  if (const int error = refused_by_level(attr, pid)) return real::refuse(error);
  const auto encoding = encode(settings().machine, attr);
  if (!encoding) {
    if (const int error = injected_for_class(attr)) return real::refuse(error);
    const long fd = open_own(*given, attr, pid, cpu, group_fd, flags);
    if (fd < 0 || settings().machine.pmus.empty()) return fd;
    if (is_clock(attr, pid)) watch(attr, pid);
    return remember(static_cast<int>(fd), attr, pid, cpu, cpu, group_fd, flags, {});
  }
  // What Linux refuses of any event comes first, as it does there: sizes, unknown bits, targets.
  const perf_event_attr behind = backing(attr, *encoding, pid);
  if (attr.inherit && exact()) account_call(); // who was created before has no copy of it
  const int behind_cpu = encoding->pmu < 0 ? cpu : backing_cpu(*encoding, cpu, group_fd);
  const long fd = settings().unbacked ? open_unbacked(*given, attr, pid, cpu, group_fd, flags)
                                      : open_behind(behind, *given, pid, behind_cpu, group_fd, flags);
  if (fd < 0) return fd;
  int error = encoding->error;
  if (error == 0 && uncountable(attr, *encoding, pid)) error = EOPNOTSUPP;
  if (error == 0) error = attribute_error(attr, *encoding, pid, cpu);
  if (error == 0) error = injected_for("open", event_name(*encoding));
  if (error == 0) {
    const Locked shared;
    error = group_error(*shared, (flags & PERF_FLAG_FD_NO_GROUP) != 0 ? -1 : find_slot(group_fd), *encoding);
  }
  if (error != 0) {
    real::close(static_cast<int>(fd));
    return real::refuse(error);
  }
  if (remember(static_cast<int>(fd), attr, pid, cpu, behind_cpu, group_fd, flags, encoding) < 0) return -1;
  watch(attr, pid);
  if (attr.sample_period != 0) announce_samples(find_slot(static_cast<int>(fd)));
  return fd;
}

void close_event(int fd) {
  const std::int32_t at = find_slot(fd);
  if (at < 0) return;
  set_slot(fd, -1);
  release_event(at);
}

// A mapping keeps it, too.
void release_event(std::int32_t at) {
  if (has_descriptor(at) || find_page(at) != nullptr) return;
  const Locked shared;
  Slot& slot = shared->slots[at];
  if (!slot.used || slot.owner != real::getpid()) return;
  slot.used = false;
  for (std::int32_t i = 0; i < shared->end; ++i) // siblings of a leader that is gone are on their own
    if (shared->slots[i].used && shared->slots[i].leader == at) shared->slots[i].leader = i;
}

void close_events(unsigned first, unsigned last) {
  const Pause pause;
  for (unsigned fd = first; fd <= std::min(last, max_descriptors - 1U); ++fd)
    close_event(static_cast<int>(fd));
}

void copy_event(int from, int to) {
  if (to == from || (find_slot(from) < 0 && find_slot(to) < 0)) return;
  const Pause pause;
  close_event(to);
  set_slot(to, find_slot(from));
}

namespace {

/// How the descriptor signals, from before execve(2).
void adopt_sampler(int fd, std::int32_t slot) {
  f_owner_ex owner{};
  real::syscall(SYS_fcntl, fd, F_GETOWN_EX, reinterpret_cast<long>(&owner));
  const auto now = [fd](int command) { return static_cast<int>(real::syscall(SYS_fcntl, fd, command)); };
  sampler(slot) = {
      .fd = fd, .signal = now(F_GETSIG), .async = (now(F_GETFL) & O_ASYNC) != 0, .owner = owner.pid};
}

} // namespace

void adopt_descriptors() {
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return;
  while (const dirent* const entry = readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    char target[64] = {};
    const std::string name = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(name.c_str(), target, sizeof target - 1) < 0 ||
        !(settings().unbacked ? is_unbacked(target) : std::strcmp(target, "anon_inode:[perf_event]") == 0))
      continue;
    const std::uint64_t id = event_id(fd);
    if (id == 0) continue;
    const Locked shared;
    for (std::int32_t i = 0; i < shared->end; ++i)
      if (shared->slots[i].used && shared->slots[i].id == id) {
        set_slot(fd, i);
        adopt_sampler(fd, i);
      }
  }
  closedir(directory);
}

} // namespace recount::emulate
