#include "profile/sites.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "host/sysctl.hpp"
#include "profile/places.hpp"
#include "symbol/disassembly.hpp"

#include <recount/error.hpp>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/mount.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

namespace recount::profile {
namespace {

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
  constexpr std::size_t largest = 1 << 20, most_exits = 16;
  std::vector<symbol::Code> parts;
  for (const auto& part : module.parts(function)) {
    if (part.end <= part.start || part.end - part.start > largest) return {};
    parts.push_back({part.start, module.bytes(part.start, part.end - part.start)});
  }
  auto exits = symbol::exits(module.machine(), parts);
  if (!exits || exits->size() > most_exits) return {};
  for (std::uint64_t& exit : *exits)
    exit = module.offset(exit).value_or(0);
  return exits;
}

class SiteSearch {
public:
  SiteSearch(pid_t pid, const std::string& debug_path, std::size_t most)
      : pid_(pid), modules_(mapped_modules(pid, debug_path)), most_(most) {}

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
    process::Fd file = open_regular(fmt::format("/proc/{}/root{}", pid_, mapped.path));
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
    if (sites_.all.size() > most_)
      throw wanted.error(
          fmt::format("{} functions match, more than the maximum of {}", sites_.all.size(), most_),
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
  std::size_t most_;
  Sites sites_;
};
} // namespace

Sites find_sites(pid_t pid, const std::vector<std::string>& names, const std::string& debug_path,
                 std::size_t most) {
  SiteSearch search(pid, debug_path, most);
  for (const auto& name : names)
    search.add(FunctionName(name));
  return search.finish();
}

namespace {
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
    if (root && ::faccessat(root.get(), "uprobe_events", W_OK, 0) == 0) return root;
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
} // namespace

ProbeEvents::ProbeEvents() : tracefs_(open_tracefs()), group_(new_group()) {
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

ProbeEvents::~ProbeEvents() {
  for (const auto& name : defined_) {
    try {
      command(fmt::format("-:{}/{}", group_, name));
    } catch (const Error&) { // still in use: removed by a later recount
    }
  }
}

std::string ProbeEvents::path(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", tracefs_.get(), name);
}

void ProbeEvents::command(const std::string& line) const {
  const process::Fd file(::openat(tracefs_.get(), "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file || !process::write_all(file.get(), line + "\n"))
    throw unavailable("uprobe_events",
                      fmt::format("the kernel refuses \"{}\": {}", line, std::strerror(errno)));
}

/// Removes groups of processes that were killed before they could remove them.
void ProbeEvents::remove_abandoned() const {
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

std::uint64_t ProbeEvents::define(int file, std::uint64_t offset, bool on_return) {
  const std::string name = fmt::format("{}{}", on_return ? "return" : "entry", defined_.size());
  // By its descriptor: a path may contain blanks, and may name another file by now.
  command(fmt::format("{}:{}/{} /proc/self/fd/{}:{:#x}", on_return ? 'r' : 'p', group_, name, file, offset));
  defined_.push_back(name);
  const auto id = base::read_number(path(fmt::format("events/{}/{}/id", group_, name)));
  if (!id) throw unavailable("uprobe_events", "the kernel reported no ID for the probe");
  return static_cast<std::uint64_t>(*id);
}

Event ProbeEvents::at(const Site& site, std::uint64_t offset, bool on_return) {
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

namespace {
constexpr std::size_t slot = 64; ///< bytes per function
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

Calibration::Calibration(const std::vector<Site>& sites) {
#if defined(__x86_64__)
  std::vector<unsigned char> code(sites.size() * slot, ret);
  process::Fd file(::memfd_create("recount-calibration", MFD_CLOEXEC));
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto body = calibration_body(sites[i].first);
    std::ranges::copy(body, code.begin() + static_cast<std::ptrdiff_t>(i * slot));
    Site site = sites[i];
    site.offset = i * slot;
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

Calibration::~Calibration() {
  if (code_ != nullptr) ::munmap(code_, bytes_);
}

void Calibration::call(std::size_t site) const {
  reinterpret_cast<void (*)()>(code_ + site * slot)();
}

} // namespace recount::profile
