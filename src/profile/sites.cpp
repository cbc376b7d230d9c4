#include "profile/sites.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "host/sysctl.hpp"
#include "profile/located.hpp"
#include "symbol/disassembly.hpp"

#include <recount/error.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>

namespace recount::profile {
namespace {

/// A file that the process has mapped, with its names.
struct Candidate {
  std::string path;
  symbol::Module module;
  process::Fd file; ///< the same once more, for the kernel
};

std::vector<Candidate> candidates_of(pid_t pid, const std::string& debug_path) {
  symbol::Spaces spaces;
  Files files;
  existing_mappings(pid, [&](const Record& record) {
    spaces.add(record);
    files.look_at(spaces, static_cast<std::uint32_t>(pid));
  });
  std::vector<Candidate> all;
  for (std::uint32_t file = 0; file < spaces.files().size(); ++file) {
    const std::string& path = spaces.files()[file].path;
    process::Fd again = spaces.files()[file].is_file()
                            ? open_regular(fmt::format("/proc/{}/root{}", pid, path))
                            : process::Fd();
    auto found = files.module(spaces, file, debug_path);
    if (found.module && again) all.push_back({path, std::move(*found.module), std::move(again)});
  }
  return all;
}

/// Where only the dynamic symbols are left, an old version of a name (memcpy of glibc 2.2.5) exists beside
/// the indirect function that current programs call: a breakpoint there would count nothing.
bool chosen_at_start(const std::vector<symbol::Named>& all, const symbol::Named& function) {
  return std::ranges::any_of(
      all, [&](const symbol::Named& other) { return other.indirect && other.linkage == function.linkage; });
}

class SiteSearch {
public:
  SiteSearch(std::vector<Candidate> candidates, std::size_t most)
      : candidates_(std::move(candidates)), most_(most) {}

  void add(const std::string& text) {
    const FunctionName wanted = parse_function_name(text);
    bool library = false;
    for (Candidate& candidate : candidates_) {
      const bool fits = wanted.library.empty() || short_path(candidate.path).starts_with(wanted.library);
      library = library || fits;
      if (fits && take(candidate, wanted.name, text)) return;
    }
    if (!library)
      throw bad_input("--function " + text, "the process has not loaded the library " + wanted.library,
                      libraries());
    explain(wanted, text);
    throw bad_input("--function " + text, "there is no such function", near(wanted));
  }
  [[nodiscard]] Sites finish() {
    for (Candidate& candidate : candidates_) {
      for (Site& site : sites_.all)
        if (site.module == candidate.path) site.file = candidate.file.get();
      sites_.files.push_back(std::move(candidate.file));
    }
    return std::move(sites_);
  }

private:
  /// False when the file has no such function.
  bool take(Candidate& candidate, const std::string& name, const std::string& text) {
    const auto found = candidate.module.functions(name);
    std::vector<Site> fitting;
    for (const auto& function : found) {
      const auto offset = candidate.module.offset(function.start);
      if (offset && !chosen_at_start(found, function))
        fitting.push_back({candidate.path, function, *offset, candidate.module.bytes(function.start, 16),
                           exits_of(candidate.module, function), candidate.module.is_go()});
    }
    if (fitting.empty() && !found.empty())
      throw bad_input("--function " + text,
                      "is an indirect function: the dynamic linker selects its implementation at start",
                      "name the selected implementation, see recount profile --by function");
    if (fitting.empty()) return false;
    for (const Site& site : fitting) {
      const auto same = [&](const Site& s) { return s.module == site.module && s.offset == site.offset; };
      if (std::ranges::none_of(sites_.all, same)) sites_.all.push_back(site);
    }
    if (sites_.all.size() > most_)
      throw bad_input(
          "--function " + text,
          fmt::format("{} functions match, more than the maximum of {}", sites_.all.size(), most_),
          "narrow the pattern");
    note(candidate, name, text);
    return true;
  }
  /// All exits of a function, or none if they are too many or unknown.
  static std::optional<std::vector<std::uint64_t>> exits_of(const symbol::Module& module,
                                                            const symbol::Named& function) {
    constexpr std::size_t largest = 1 << 20, most_exits = 16;
    std::vector<symbol::Code> parts;
    for (const auto& part : module.parts(function)) {
      if (part.end <= part.start || part.end - part.start > largest) return {};
      parts.push_back({part.start, module.bytes(part.start, part.end - part.start)});
    }
    const auto addresses = symbol::exits(module.machine(), parts);
    if (!addresses || addresses->size() > most_exits) return {};
    std::vector<std::uint64_t> offsets;
    for (const std::uint64_t address : *addresses)
      offsets.push_back(module.offset(address).value_or(0));
    return offsets;
  }

  /// Throws Error (bad_input) if the function exists but its calls cannot be counted.
  void explain(const FunctionName& wanted, const std::string& text) {
    for (Candidate& candidate : candidates_) {
      if (!short_path(candidate.path).starts_with(wanted.library)) continue;
      if (const auto instances = candidate.module.functions(wanted.name + "<*"); !instances.empty())
        throw bad_input("--function " + text,
                        fmt::format("is a template ({} in {})",
                                    base::format_count(instances.size(), "instance"),
                                    short_path(candidate.path)),
                        fmt::format("--function '{}<*' counts all of them", text));
      const std::size_t times = candidate.module.inlined(wanted.name).value_or(0) +
                                candidate.module.inlined(wanted.name + "<*").value_or(0);
      if (times > 0)
        throw bad_input("--function " + text,
                        fmt::format("was inlined everywhere ({}) in {}: there are no calls to count",
                                    base::format_count(times, "place"), short_path(candidate.path)),
                        "recount profile --by function shows samples in it; or compile it with "
                        "__attribute__((noinline))");
    }
  }

  void note(Candidate& candidate, const std::string& name, const std::string& text) {
    const auto inlined = candidate.module.inlined(name);
    if (inlined && *inlined > 0)
      sites_.notes.push_back(fmt::format("{} was also inlined at {}; these calls are not counted", text,
                                         base::format_count(*inlined, "place")));
  }
  [[nodiscard]] std::string libraries() const {
    std::string text = "it has";
    for (const Candidate& candidate : candidates_)
      text += " " + short_path(candidate.path);
    return text;
  }
  [[nodiscard]] std::string near(const FunctionName& wanted) const {
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates_)
      for (const auto& function : candidate.module.functions("*" + wanted.name + "*"))
        names.push_back(function.name);
    return base::did_you_mean(wanted.name, names,
                              "write the name with its namespace, as nm -C PROGRAM prints it");
  }

  std::vector<Candidate> candidates_;
  std::size_t most_;
  Sites sites_;
};
} // namespace

FunctionName parse_function_name(const std::string& text) {
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at)) {
    if (text.compare(at, 2, "::") != 0) return {text.substr(0, at), text.substr(at + 1)};
    at += 2;
  }
  return {{}, text};
}

Sites find_sites(pid_t pid, const std::vector<std::string>& names, const std::string& debug_path,
                 std::size_t most) {
  SiteSearch search(candidates_of(pid, debug_path), most);
  for (const auto& name : names)
    search.add(name);
  return search.finish();
}

namespace {
constexpr const char* prefix = "recount_";

/// Several of them may be in one process.
std::string new_group() {
  static std::atomic<unsigned> number = 0;
  return fmt::format("{}{}_{}", prefix, ::getpid(), number++);
}

process::Fd open_folder(int at, const char* path) {
  return process::Fd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// A private mount, removed when its descriptor is closed.
process::Fd mount_privately() {
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
  const process::Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return {};
  return process::Fd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
#else
  return {};
#endif
}

process::Fd open_tracefs() {
  for (const char* const path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    process::Fd folder = open_folder(AT_FDCWD, path);
    if (folder && ::faccessat(folder.get(), "uprobe_events", W_OK, 0) == 0) return folder;
  }
  return mount_privately();
}

Error no_tracefs(int error) {
  return unavailable(
      "probes on functions", std::string("no tracefs can be used: ") + std::strerror(error), {},
      "run as root (CAP_SYS_ADMIN), or let root run `mount -t tracefs nodev /sys/kernel/tracing`");
}

std::string contents(int root, const std::string& path) {
  const process::Fd file(::openat(root, path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? base::read_all(file.get()).value_or("") : "";
}
} // namespace

Tracefs::Tracefs() : root_(open_tracefs()), group_(new_group()) {
  if (!root_) throw no_tracefs(errno);
  if (::faccessat(root_.get(), "uprobe_events", W_OK, AT_EACCESS) != 0) throw no_tracefs(errno);
  clean_up();
}

Tracefs::~Tracefs() {
  for (const auto& name : defined_) {
    try {
      command(fmt::format("-:{}/{}", group_, name));
    } catch (const Error&) { // still in use: removed by a later recount
    }
  }
}

void Tracefs::command(const std::string& line) const {
  const process::Fd file(::openat(root_.get(), "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string text = line + "\n";
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw unavailable("uprobe_events",
                      fmt::format("the kernel refuses \"{}\": {}", line, std::strerror(errno)));
}

/// Removes groups of processes that were killed before they could remove them.
void Tracefs::clean_up() const {
  const process::Fd events = open_folder(root_.get(), "events");
  if (!events) return;
  std::vector<std::string> lines;
  const auto each = [](int at, const char* path, const auto& visit) {
    process::Fd folder = open_folder(at, path);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(folder ? ::fdopendir(folder.get()) : nullptr,
                                                      ::closedir);
    if (!listing) return;
    static_cast<void>(folder.release());
    while (const dirent* const entry = ::readdir(listing.get()))
      if (entry->d_name[0] != '.') visit(std::string(entry->d_name));
  };
  each(events.get(), ".", [&](const std::string& group) {
    if (!group.starts_with(prefix)) return;
    pid_t pid = 0;
    const char* const digits = group.data() + std::strlen(prefix);
    const auto [end, wrong] = std::from_chars(digits, group.data() + group.size(), pid);
    const bool ours = wrong == std::errc() && *end == '_';
    if (!ours || ::kill(pid, 0) == 0 || errno != ESRCH) return;
    each(events.get(), group.c_str(), [&](const std::string& name) {
      struct stat status {};
      const std::string path = group + "/" + name;
      if (::fstatat(events.get(), path.c_str(), &status, 0) == 0 && S_ISDIR(status.st_mode))
        lines.push_back("-:" + path);
    });
  });
  for (const auto& line : lines) {
    try {
      command(line);
    } catch (const Error&) { // in use after all
    }
  }
}

std::uint64_t Tracefs::define(int file, std::uint64_t offset, bool on_return) {
  const std::string name = fmt::format("{}{}", on_return ? "return" : "entry", defined_.size());
  // By its descriptor: a path may contain blanks, and may name another file by now.
  command(fmt::format("{}:{}/{} /proc/self/fd/{}:{:#x}", on_return ? 'r' : 'p', group_, name, file, offset));
  defined_.push_back(name);
  const std::string text = contents(root_.get(), fmt::format("events/{}/{}/id", group_, name));
  std::uint64_t id = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), id).ec != std::errc())
    throw unavailable("uprobe_events", "the kernel reported no ID for the probe");
  return id;
}

ProbeEvents::ProbeEvents() {
  const host::Permission may = host::permission();
  if (!may.cap_perfmon && !may.cap_sys_admin)
    throw unavailable(
        "--function", "this user may not place probes in programs",
        "CAP_PERFMON, or CAP_SYS_ADMIN before Linux 5.8, is missing",
        "run as root; or setcap cap_perfmon+ep on recount (sudo setcap cap_perfmon+ep $(which recount))");
  try {
    tracefs_.emplace();
  } catch (const Error&) {
    const auto type = base::read_number("/sys/bus/event_source/devices/uprobe/type");
    if (!type) throw;
    pmu_ = static_cast<std::uint32_t>(*type);
  }
}

Event ProbeEvents::at(const Site& site, std::uint64_t offset, bool on_return) {
  Event event;
  event.name = fmt::format("{}{}", site.function.name, on_return ? " return" : "");
  event.pmu = "uprobe";
  event.attr.size = sizeof event.attr;
  if (tracefs_) {
    event.attr.type = PERF_TYPE_TRACEPOINT;
    event.attr.config = tracefs_->define(site.file, offset, on_return);
    return event;
  }
  event.attr.type = pmu_;
  event.attr.config = on_return ? 1 : 0; // /sys/bus/event_source/devices/uprobe/format/retprobe
  event.attr.uprobe_path = reinterpret_cast<std::uintptr_t>(
      paths_.emplace_back(fmt::format("/proc/self/fd/{}", site.file)).c_str());
  event.attr.probe_offset = offset;
  return event;
}

} // namespace recount::profile
