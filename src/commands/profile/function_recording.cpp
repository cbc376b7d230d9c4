#include "commands/profile/function_recording.hpp"

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host/sysctl.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "commands/profile/places.hpp"
#include "count/symbol/disassembly.hpp"

#include <recount/error.hpp>
#include <recount/sampling.hpp>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/mount.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <list>
#include <memory>
#include <string_view>

namespace recount::profile {

Calls::Calls(std::size_t counters, bool by_cpu) : counts(counters), totals(counters), by_cpu_(by_cpu) {}

void Calls::add(const CallHit& hit) {
  constexpr std::size_t max_threads = 65536;
  entries += hit.returns ? 0U : 1U;
  if (threads_.size() >= max_threads && !threads_.contains(hit.tid)) {
    ++(hit.returns ? stray : forgotten);
    return;
  }
  Thread& thread = threads_[hit.tid];
  if (hit.returns)
    leave(thread, hit);
  else
    enter(thread, hit);
  thread.returned_last = hit.returns;
}

/// Entries from here on will not return.
void Calls::drop(Thread& thread, std::size_t from) {
  unreturned += thread.entries.size() - from;
  thread.entries.resize(from);
}

void Calls::enter(Thread& thread, const CallHit& hit) {
  constexpr std::size_t max_active = 4096;
  // Stacks grow downwards: calls below the frame of the new one have ended. At the same address there may be
  // the calls of a tail recursion, all of which return together: after a return none of them is active.
  const auto ended = std::ranges::find_if(thread.entries, [&](const Entry& e) {
    return e.stack < hit.stack || (e.stack == hit.stack && thread.returned_last);
  });
  drop(thread, static_cast<std::size_t>(ended - thread.entries.begin()));
  if (!thread.entries.empty() && thread.entries.back().stack > hit.stack) ++recursive;
  if (thread.entries.size() >= max_active)
    ++unreturned;
  else
    thread.entries.push_back(
        {hit.stack, hit.time, hit.migrations, hit.cpu, {hit.values.begin(), hit.values.end()}});
}

void Calls::leave(Thread& thread, const CallHit& hit) {
  const auto inner =
      std::ranges::find_if(thread.entries, [&](const Entry& e) { return e.stack < hit.stack; });
  drop(thread, static_cast<std::size_t>(inner - thread.entries.begin()));
  if (thread.entries.empty() || thread.entries.back().stack != hit.stack) {
    ++stray;
    return;
  }
  complete(thread, thread.entries.back(), hit);
  thread.entries.pop_back();
}

void Calls::complete(Thread& thread, const Entry& entry, const CallHit& hit) {
  ++completed;
  const std::uint64_t duration = hit.time - std::min(hit.time, entry.time);
  wall.add(duration);
  // Within another call, unless all active ones have the same frame: the inner calls of a tail recursion,
  // whose counts are part of the next return, that of the outer call.
  const bool outer = thread.entries.front().stack == entry.stack;
  const bool tail_call = thread.returned_last && thread.returned_stack == hit.stack && outer;
  const bool moved = by_cpu_ && (entry.cpu != hit.cpu || entry.migrations != hit.migrations);
  migrated += moved ? 1U : 0U;
  recursive += tail_call ? 1U : 0U;
  if (!tail_call) {
    thread.returned_wall = 0;
    thread.returned_values.assign(counts.size(), 0);
  }
  for (std::size_t c = 0; c < counts.size() && !moved; ++c) {
    const std::uint64_t count = hit.values[c] - std::min(hit.values[c], entry.values[c]);
    counts[c].add(count);
    if (!outer) continue;
    totals[c] += count - std::min(count, thread.returned_values[c]);
    thread.returned_values[c] = std::max(thread.returned_values[c], count);
  }
  if (!outer) return;
  total_wall += duration - std::min(duration, thread.returned_wall);
  thread.returned_wall = std::max(thread.returned_wall, duration);
  thread.returned_stack = hit.stack;
}

void Calls::forget() {
  for (auto& [tid, thread] : threads_) {
    forgotten += thread.entries.size();
    thread = {};
  }
}

void Calls::end_thread(std::uint32_t tid) {
  const auto at = threads_.find(tid);
  if (at == threads_.end()) return;
  drop(at->second, 0);
  threads_.erase(at);
}

void Calls::finish() {
  for (auto& [tid, thread] : threads_)
    drop(thread, 0);
  threads_.clear();
}

std::size_t Histogram::bucket(std::uint64_t value) noexcept {
  constexpr std::uint64_t exact = 1U << bits;
  if (value < exact) return static_cast<std::size_t>(value);
  const auto power = static_cast<unsigned>(std::bit_width(value)) - 1 - bits; // of the width of its bucket
  return (std::size_t{power} << bits) + static_cast<std::size_t>(value >> power);
}

std::uint64_t Histogram::middle(std::size_t bucket) noexcept {
  constexpr std::size_t exact = 1U << bits;
  if (bucket < exact) return bucket;
  const std::size_t power = (bucket >> bits) - 1;
  const std::uint64_t low = std::uint64_t{bucket - (power << bits)} << power;
  return low + ((std::uint64_t{1} << power) - 1) / 2;
}

void Histogram::add(std::uint64_t value) noexcept {
  minimum_ = count_ == 0 ? value : std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  ++count_;
  sum_ += static_cast<double>(value);
  ++filled_[bucket(value)];
}

std::uint64_t Histogram::quantile(double p) const noexcept {
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(p * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < filled_.size(); ++i) {
    seen += filled_[i];
    if (seen >= rank) return std::clamp(middle(i), minimum_, maximum_);
  }
  return maximum_;
}

namespace {
constexpr std::size_t body_bytes = 64; ///< bytes per function
constexpr unsigned char ret = 0xc3;
constexpr unsigned char push[] = {0x55, 0x48, 0x83, 0xc4, 0x08};                  // push rbp; add rsp, 8
constexpr unsigned char sub[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08}; // sub rsp, 8; add rsp, 8
constexpr unsigned char nop[] = {0x90}, jump[] = {0xeb, 0x00}, endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr unsigned char other_no_op[] = {0x89, 0xc0}; // mov eax, eax
} // namespace

std::span<const unsigned char> calibration_body(std::span<const unsigned char> code) {
  const std::pair<std::string_view, std::span<const unsigned char>> classes[] = {
      {"endbr64", endbr64}, {"push", push}, {"sub rsp, ", sub}, {"nop", nop}, {"call", jump}, {"j", jump}};
  const auto instructions = symbol::disassemble(EM_X86_64, code, 0);
  for (const auto& [beginning, body] : classes)
    if (!instructions.empty() && instructions[0].text.starts_with(beginning)) return body;
  return other_no_op;
}

namespace {
constexpr std::size_t max_functions = 64;

/// A function in a file that a process has mapped.
struct Site {
  std::string module; ///< path
  symbol::Named function;
  std::uint64_t offset = 0;         ///< of its first instruction in the file
  std::vector<unsigned char> first; ///< bytes from there on, one instruction at least
  /// Offsets of its exit instructions; empty if it never returns. None: unknown, and returns can only be
  /// traced by replacing the return address.
  std::optional<std::vector<std::uint64_t>> exits;
  bool moving_stack = false; ///< Go: then its return address must not be replaced
  int file = -1;             ///< an open descriptor of the file, owned by Sites
};

struct Sites {
  std::vector<Site> all;
  std::vector<process::Fd> files;
  std::vector<std::string> notes; ///< calls that are not counted, full sentences
};

/// "libc:malloc" is library "libc", name "malloc"; the colons of "ns::f" are part of a name.
struct FunctionName {
  std::string text, library, name;
  explicit FunctionName(const std::string& given) : text(given), name(given) {
    for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 2)) {
      if (text.compare(at, 2, "::") == 0) continue;
      library = text.substr(0, at);
      name = text.substr(at + 1);
      return;
    }
  }
  [[nodiscard]] bool is_in(const MappedModule& mapped) const {
    return short_path(mapped.path).starts_with(library);
  }
  [[nodiscard]] Error error(const std::string& cause, const std::string& fix) const {
    return bad_input("--function " + text, cause, fix);
  }
};

/// Where only the dynamic symbols are left, an old version of a name (memcpy of glibc 2.2.5) exists beside
/// the indirect function that current programs call: a breakpoint there would count nothing.
bool is_selected_at_start(const std::vector<symbol::Named>& all, const symbol::Named& function) {
  return std::ranges::any_of(
      all, [&](const symbol::Named& other) { return other.indirect && other.linkage == function.linkage; });
}

/// Offsets of all exits of a function, or none if they are too many or unknown.
std::optional<std::vector<std::uint64_t>> find_exits(symbol::Module& module, const symbol::Named& function) {
  constexpr std::size_t largest = 1 << 20, max_exits = 16;
  std::vector<symbol::Code> parts;
  for (const auto& part : module.parts(function)) {
    if (part.end <= part.start || part.end - part.start > largest) return {};
    parts.push_back({part.start, module.bytes(part.start, part.end - part.start)});
  }
  auto exits = symbol::exits(module.machine(), parts);
  if (!exits || exits->size() > max_exits) return {};
  for (std::uint64_t& exit : *exits) {
    const auto offset = module.offset(exit);
    if (!offset) return {};
    exit = *offset;
  }
  return exits;
}

class SiteSearch {
public:
  SiteSearch(pid_t pid, const std::string& debug_path)
      : pid_(pid), modules_(mapped_modules(pid, debug_path)) {}

  void add(const FunctionName& wanted) {
    for (const MappedModule& mapped : modules_)
      if (wanted.is_in(mapped) && add_matches(mapped, wanted)) return;
    throw no_match(wanted);
  }
  [[nodiscard]] Sites finish() { return std::move(sites_); }

private:
  /// False when the file has no such function.
  bool add_matches(const MappedModule& mapped, const FunctionName& wanted) {
    symbol::Module& module = *mapped.module;
    const auto found = module.functions(wanted.name);
    process::Fd file(::fcntl(mapped.file.get(), F_DUPFD_CLOEXEC, 0));
    if (found.empty() || !file) return false;
    bool matched = false;
    for (const auto& function : found) {
      const auto offset = module.offset(function.start);
      if (!offset || is_selected_at_start(found, function)) continue;
      matched = true;
      if (std::ranges::none_of(sites_.all, [&](const Site& site) {
            return site.module == mapped.path && site.offset == *offset;
          }))
        sites_.all.push_back({mapped.path, function, *offset, module.bytes(function.start, 16),
                              find_exits(module, function), module.is_go(), file.get()});
    }
    sites_.files.push_back(std::move(file));
    if (!matched)
      throw wanted.error("is an indirect function: the dynamic linker selects its implementation at start",
                         "name the selected implementation, see recount profile --by function");
    if (sites_.all.size() > max_functions)
      throw wanted.error(
          fmt::format("{} functions match, more than the maximum of {}", sites_.all.size(), max_functions),
          "narrow the pattern");
    if (const auto inlined = module.inlined(wanted.name); inlined.value_or(0) > 0)
      sites_.notes.push_back(fmt::format("{} was also inlined at {}; these calls are not counted",
                                         wanted.text, base::format_count(*inlined, "place")));
    return true;
  }

  /// Why no file has calls of the function to count.
  [[nodiscard]] Error no_match(const FunctionName& wanted) const {
    std::vector<std::string> libraries, similar;
    bool loaded = false;
    for (const MappedModule& mapped : modules_) {
      libraries.push_back(short_path(mapped.path));
      for (const auto& function : mapped.module->functions("*" + wanted.name + "*"))
        similar.push_back(function.name);
      if (!wanted.is_in(mapped)) continue;
      loaded = true;
      const std::string instances = wanted.name + "<*";
      if (const auto count = mapped.module->functions(instances).size(); count > 0)
        return wanted.error(
            fmt::format("is a template ({} in {})", base::format_count(count, "instance"), libraries.back()),
            fmt::format("--function '{}<*' counts all of them", wanted.text));
      const std::size_t times =
          mapped.module->inlined(wanted.name).value_or(0) + mapped.module->inlined(instances).value_or(0);
      if (times > 0)
        return wanted.error(fmt::format("was inlined everywhere ({}) in {}: there are no calls to count",
                                        base::format_count(times, "place"), libraries.back()),
                            "recount profile --by function shows samples in it; or compile it with "
                            "__attribute__((noinline))");
    }
    if (!loaded)
      return wanted.error("the process has not loaded the library " + wanted.library,
                          fmt::format("it has {}", fmt::join(libraries, " ")));
    return wanted.error("there is no such function",
                        base::did_you_mean(wanted.name, similar,
                                           "write the name with its namespace, as nm -C PROGRAM prints it"));
  }

  pid_t pid_;
  std::vector<MappedModule> modules_;
  Sites sites_;
};

namespace fs = std::filesystem;
constexpr std::string_view group_prefix = "recount_";

/// "recount_PID_N": several may be in one process.
std::string new_group() {
  static std::atomic<unsigned> number = 0;
  return fmt::format("{}{}_{}", group_prefix, ::getpid(), number++);
}

/// Whether the process that has defined a group has ended.
bool is_abandoned(const std::string& group) {
  if (!group.starts_with(group_prefix)) return false;
  const auto words = base::split(std::string_view(group).substr(group_prefix.size()), '_');
  const auto pid = words.size() == 2 ? base::parse<pid_t>(words[0]) : std::nullopt;
  return pid && ::kill(*pid, 0) != 0 && errno == ESRCH;
}

/// tracefs where it is mounted, else a private mount, which is removed when its descriptor is closed. None
/// with errno if it is not writable.
process::Fd open_tracefs() {
  for (const char* const path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    process::Fd root(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root && ::faccessat(root.get(), "uprobe_events", W_OK, AT_EACCESS) == 0) return root;
  }
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
  const process::Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return {};
  process::Fd root(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  if (root && ::faccessat(root.get(), "uprobe_events", W_OK, AT_EACCESS) == 0) return root;
#endif
  return {};
}

/// Events that occur at the entry or the return of a function; this object must outlive the opened events.
/// Where tracefs can be used, its probes (Documentation/trace/uprobetracer.rst), in a group of its own, which
/// the destructor removes; then new threads and processes of the target are followed. Else the kernel's
/// "uprobe" PMU, whose events must not be inherited: until at least Linux 6.18, it looks for the file's name
/// in the memory of a task that forks, and the fork fails. Not thread-safe.
class ProbeEvents {
public:
  /// Removes the probes of processes that have ended. Throws Error (unavailable) if neither is available.
  ProbeEvents() : tracefs_(open_tracefs()), group_(new_group()) {
    const int error = errno;
    const host::Permission may = host::permission();
    if (!may.cap_perfmon && !may.cap_sys_admin)
      throw unavailable(
          "--function", "this user may not place probes in programs",
          "CAP_PERFMON, or CAP_SYS_ADMIN before Linux 5.8, is missing",
          "run as root; or setcap cap_perfmon+ep on recount (sudo setcap cap_perfmon+ep $(which recount))");
    if (tracefs_) {
      remove_abandoned();
      return;
    }
    const auto type = base::read_number("/sys/bus/event_source/devices/uprobe/type");
    if (!type)
      throw unavailable(
          "probes on functions", std::string("no tracefs can be used: ") + std::strerror(error), {},
          "run as root (CAP_SYS_ADMIN), or let root run `mount -t tracefs nodev /sys/kernel/tracing`");
    pmu_ = static_cast<std::uint32_t>(*type);
  }

  ~ProbeEvents() {
    for (const auto& name : defined_) {
      try {
        command(fmt::format("-:{}/{}", group_, name));
      } catch (const Error&) { // still in use: removed by a later recount
      }
    }
  }
  [[nodiscard]] bool inheritable() const noexcept { return static_cast<bool>(tracefs_); }
  /// Before the instruction at an offset of the site's file; `on_return`: after the function that begins
  /// there has returned, by replacing its return address. Throws Error (unavailable).
  [[nodiscard]] Event at(const Site& site, std::uint64_t offset, bool on_return) {
    Event event;
    event.name = fmt::format("{}{}", site.function.name, on_return ? " return" : "");
    event.pmu = "uprobe";
    event.attr.size = sizeof event.attr;
    if (tracefs_) {
      event.attr.type = PERF_TYPE_TRACEPOINT;
      event.attr.config = define(site.file, offset, on_return);
      return event;
    }
    event.attr.type = pmu_;
    event.attr.config = on_return ? 1 : 0; // /sys/bus/event_source/devices/uprobe/format/retprobe
    event.attr.uprobe_path = reinterpret_cast<std::uintptr_t>(
        paths_.emplace_back(fmt::format("/proc/self/fd/{}", site.file)).c_str());
    event.attr.probe_offset = offset;
    return event;
  }

private:
  void command(const std::string& line) const {
    const process::Fd file(::openat(tracefs_.get(), "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file || !process::write_all(file.get(), line + "\n"))
      throw unavailable("uprobe_events",
                        fmt::format("the kernel refuses \"{}\": {}", line, std::strerror(errno)));
  }

  /// Removes groups of processes that were killed before they could remove them.
  void remove_abandoned() const {
    std::vector<std::string> lines;
    try {
      for (const auto& group : fs::directory_iterator(path("events")))
        if (const std::string name = group.path().filename(); is_abandoned(name))
          for (const auto& probe : fs::directory_iterator(group.path()))
            if (probe.is_directory()) lines.push_back("-:" + name + "/" + probe.path().filename().string());
    } catch (const fs::filesystem_error&) { // removed meanwhile by another recount
    }
    for (const auto& line : lines) {
      try {
        command(line);
      } catch (const Error&) { // still in use
      }
    }
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return fmt::format("/proc/self/fd/{}/{}", tracefs_.get(), name);
  }

  [[nodiscard]] std::uint64_t define(int file, std::uint64_t offset, bool on_return) {
    const std::string name = fmt::format("{}{}", on_return ? "return" : "entry", defined_.size());
    // By its descriptor: a path may contain blanks, and may name another file by now.
    command(
        fmt::format("{}:{}/{} /proc/self/fd/{}:{:#x}", on_return ? 'r' : 'p', group_, name, file, offset));
    defined_.push_back(name);
    const auto id = base::read_number(path(fmt::format("events/{}/{}/id", group_, name)));
    if (!id) throw unavailable("uprobe_events", "the kernel reported no ID for the probe");
    return static_cast<std::uint64_t>(*id);
  }

  process::Fd tracefs_; ///< its root; none: use the PMU
  std::string group_;
  std::vector<std::string> defined_;
  std::uint32_t pmu_ = 0;
  std::list<std::string> paths_; ///< the kernel reads them when an event is opened
};

/// Empty functions, to measure the overhead of probes. Code per site: an instruction of the same class as the
/// first one of the site, and a return. The overhead of a uprobe depends on that instruction: Linux emulates
/// pushes, nops and jumps and single-steps the rest (arch/x86/kernel/uprobes.c). Empty on architectures other
/// than x86-64, and where memory may not be executable.
class Calibration {
public:
  explicit Calibration(const std::vector<Site>& sites) {
#if defined(__x86_64__)
    std::vector<unsigned char> code(sites.size() * body_bytes, ret);
    process::Fd file(::memfd_create("recount-calibration", MFD_CLOEXEC));
    for (std::size_t i = 0; i < sites.size(); ++i) {
      const auto body = calibration_body(sites[i].first);
      std::ranges::copy(body, code.begin() + static_cast<std::ptrdiff_t>(i * body_bytes));
      Site site = sites[i];
      site.offset = i * body_bytes;
      if (site.exits && !site.exits->empty())
        site.exits = std::vector<std::uint64_t>{site.offset + body.size()};
      site.file = file.get();
      sites_.all.push_back(std::move(site));
    }
    const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
    void* const mapped = file && process::write_all(file.get(), text)
                             ? ::mmap(nullptr, code.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0)
                             : MAP_FAILED;
    if (mapped == MAP_FAILED) {
      sites_.all.clear();
      return;
    }
    code_ = static_cast<unsigned char*>(mapped);
    bytes_ = code.size();
    sites_.files.push_back(std::move(file));
#else
    static_cast<void>(sites);
#endif
  }

  ~Calibration() {
    if (code_ != nullptr) ::munmap(code_, bytes_);
  }
  /// In the order of those given; empty: there is none.
  [[nodiscard]] const Sites& sites() const noexcept {
    return sites_;
  }

  void call(std::size_t site) const {
    reinterpret_cast<void (*)()>(code_ + site * body_bytes)();
  }

private:
  Sites sites_;
  std::size_t bytes_ = 0;
  unsigned char* code_ = nullptr;
};

constexpr std::size_t functions_per_group = 4;

#if defined(__x86_64__)
constexpr std::uint64_t stack_register = std::uint64_t{1} << 7U; // PERF_REG_X86_SP
constexpr std::uint64_t return_address = 8;                      // pushed by the call, popped by the return
#elif defined(__aarch64__)
constexpr std::uint64_t stack_register = std::uint64_t{1} << 31U; // PERF_REG_ARM64_SP
constexpr std::uint64_t return_address = 0;
#else
constexpr std::uint64_t stack_register = 0;
constexpr std::uint64_t return_address = 0;
#endif

/// The meaning of a probe hit.
struct ProbeRole {
  std::size_t function = 0; ///< of those in its group
  bool leaves = false;      ///< at an exit or a return; else at the entry
  bool returned = false;    ///< the return address has been popped from the stack
};

/// Some functions, and the kernel group of their counters and probes: each hit reads the whole group.
class FunctionGroup {
public:
  /// `events`: the counters, the migrations, then those of the roles.
  FunctionGroup(std::span<FunctionCalls> functions, std::vector<SampledEvent> events,
                const SamplingOptions& options, std::vector<ProbeRole> roles)
      : functions_(functions),
        roles_(std::move(roles)),
        counters_(events.size() - roles_.size() - 1),
        sampling_(std::move(events), options) {}

  Sampling& sampling() { return sampling_; }
  void read() { sampling_.read(sink()); }
  void finish() {
    sampling_.finish(sink());
    for (FunctionCalls& f : functions_)
      f.seen.finish();
    const SamplingReport report = sampling_.report();
    for (std::size_t r = 0; r < roles_.size(); ++r)
      if (!roles_[r].leaves)
        functions_[roles_[r].function].calls = report.events[counters_ + 1 + r].occurrences;
  }
  [[nodiscard]] std::uint64_t forks() const noexcept { return forks_; }

private:
  Sampling::Sink sink() {
    return [this](const Record& record) { take(record); };
  }
  void take(const Record& record) {
    if (const auto* sample = std::get_if<Sample>(&record)) return take_hit(*sample);
    forks_ += std::holds_alternative<Fork>(record) ? 1U : 0U;
    const auto* const end = std::get_if<End>(&record);
    const auto* const name = std::get_if<Name>(&record);
    for (FunctionCalls& f : functions_) {
      if (std::holds_alternative<Loss>(record)) f.seen.forget();
      if (end) f.seen.end_thread(end->tid);
      if (name && name->exec) f.seen.end_thread(name->tid);
    }
  }
  void take_hit(const Sample& sample) {
    if (sample.event <= counters_) return;
    const ProbeRole& role = roles_[sample.event - counters_ - 1];
    const std::uint64_t stack =
        sample.user_registers.empty() ? 0 : sample.user_registers[0] + (role.returned ? 0 : return_address);
    functions_[role.function].seen.add({role.leaves, sample.tid, sample.cpu, sample.time, stack,
                                        sample.values[counters_], sample.values.first(counters_)});
  }

  std::span<FunctionCalls> functions_;
  std::vector<ProbeRole> roles_; ///< of the events behind the counters and the migrations
  std::size_t counters_;
  std::uint64_t forks_ = 0;
  Sampling sampling_;
};

SamplingOptions function_options(pid_t pid, bool inherit) {
  return {.pid = pid, .inherit = inherit, .follow = true, .group = true, .user_registers = stack_register};
}

/// All open events of the target.
struct OpenGroups {
  ProbeEvents probes; ///< outlives the groups
  std::vector<std::unique_ptr<FunctionGroup>> groups;

  void start() {
    for (const auto& group : groups)
      group->sampling().start();
  }
  void stop() {
    for (const auto& group : groups)
      group->sampling().stop();
  }
};

void open_groups(OpenGroups& open, FunctionRecording& recording, const Sites& sites, pid_t pid,
                 Domain domain) {
  std::vector<SampledEvent> counters;
  for (const auto& name : recording.counters)
    counters.push_back({encode(name, domain)});
  counters.push_back({encode("perf::CPU-MIGRATIONS", domain)});
  for (std::size_t from = 0; from < sites.all.size(); from += functions_per_group) {
    const auto functions = std::span(recording.functions)
                               .subspan(from)
                               .first(std::min(functions_per_group, sites.all.size() - from));
    std::vector<SampledEvent> events = counters;
    std::vector<ProbeRole> roles;
    const auto probe = [&](std::uint64_t offset, const ProbeRole& role) {
      events.push_back({open.probes.at(sites.all[from + role.function], offset, role.returned), 1});
      roles.push_back(role);
    };
    for (std::size_t f = 0; f < functions.size(); ++f) {
      const Site& site = sites.all[from + f];
      probe(site.offset, {f, false, false});
      if (!functions[f].returns) continue;
      for (const std::uint64_t offset : site.exits.value_or(std::vector<std::uint64_t>()))
        probe(offset, {f, true, false});
      if (!site.exits) probe(site.offset, {f, true, true});
    }
    open.groups.push_back(std::make_unique<FunctionGroup>(
        functions, std::move(events), function_options(pid, open.probes.inheritable()), std::move(roles)));
  }
}

/// Measures the probes in this thread, in groups of the same size as those of the target: each hit reads its
/// whole group. By the time of this thread: others are not part of the overhead.
void calibrate(FunctionRecording& recording, const Sites& sites, Domain domain) {
  constexpr int calls = 100;
  const Calibration code(sites.all);
  if (code.sites().all.empty()) return;
  FunctionRecording trial = recording;
  try {
    OpenGroups open;
    open_groups(open, trial, code.sites(), 0, domain);
    open.start();
    std::vector<double> durations;
    for (std::size_t f = 0; f < sites.all.size(); ++f) {
      const std::int64_t begin = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
      for (int i = 0; i < calls; ++i)
        code.call(f);
      durations.push_back(static_cast<double>(base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / calls);
      open.groups[f / functions_per_group]->read();
    }
    open.stop();
    for (const auto& group : open.groups)
      group->finish();
    for (std::size_t f = 0; f < durations.size(); ++f)
      recording.functions[f].cost =
          ProbeCost{trial.functions[f].seen.wall, trial.functions[f].seen.counts, durations[f]};
  } catch (const Error& error) { // the counts do not depend on it
    recording.notes.push_back("the cost of probes is unknown: " + error.problem().cause);
  }
}

void read_until_end(OpenGroups& open, Target& target) {
  for (bool running = true; running && !target.over();) {
    std::vector<pollfd> polled;
    for (const auto& group : open.groups)
      for (const int fd : group->sampling().descriptors())
        polled.push_back({fd, POLLIN, 0});
    ::poll(polled.data(), polled.size(), 100);
    running = false;
    for (const auto& group : open.groups) {
      running = group->sampling().wait(std::chrono::milliseconds(0)) || running;
      group->read();
    }
  }
}

void conclude(FunctionRecording& recording, OpenGroups& open) {
  std::uint64_t forks = 0;
  for (const auto& group : open.groups) {
    group->finish();
    const SamplingReport report = group->sampling().report();
    recording.complete = recording.complete && report.complete();
    recording.reader_ns += report.reader_ns;
    forks = std::max(forks, group->forks());
  }
  if (!open.probes.inheritable() && forks > 0)
    recording.notes.push_back(base::format_count(forks, "thread or process started during the measurement is",
                                                 "threads or processes started during the measurement are") +
                              " not counted: without a tracefs, probes are not inherited");
  for (const FunctionCalls& f : recording.functions)
    if (process::shell_status(recording.exit) == 128 + SIGABRT && f.replaced && f.seen.unreturned > 0)
      recording.notes.push_back(
          f.name + ": the command was aborted in it. A C++ exception cannot propagate through a function "
                   "whose return address is replaced; use --calls");
}
} // namespace

std::uint64_t probe_limit(const Histogram& cost) {
  return std::max(cost.quantile(0.5) * 3 / 2, cost.quantile(0.9));
}

FunctionRecording record_functions(const FunctionSettings& settings) {
  using Clock = std::chrono::steady_clock;
  if (settings.who.pids.size() > 1)
    throw bad_input("--function", "counts calls in one process only", "name one process with -p");
  Target target(settings.who, true);
  SiteSearch search(target.pid(), settings.debug_path);
  for (const auto& name : settings.names)
    search.add(FunctionName(name));
  Sites sites = search.finish();
  FunctionRecording recording;
  if (settings.returns) recording.counters = settings.counters;
  recording.notes = sites.notes;
  OpenGroups open;
  for (Site& site : sites.all) {
    if (settings.uretprobe && !site.moving_stack) site.exits.reset();
    FunctionCalls f{site.function.name, site.module,
                    Calls(recording.counters.size(), open.probes.inheritable())};
    f.returns = settings.returns && stack_register != 0 && (site.exits || !site.moving_stack);
    f.replaced = f.returns && !site.exits;
    f.requested = settings.uretprobe;
    recording.functions.push_back(std::move(f));
  }
  const Domain domain = permitted_domain();
  calibrate(recording, sites, domain);
  open_groups(open, recording, sites, target.pid(), domain);
  open.start();
  const auto begin = Clock::now();
  target.go();
  read_until_end(open, target);
  open.stop();
  recording.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  recording.exit = target.end();
  conclude(recording, open);
  return recording;
}

} // namespace recount::profile
