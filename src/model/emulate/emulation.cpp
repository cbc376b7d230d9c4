#include "model/emulate/emulation.hpp"

#include "base/nearest.hpp"
#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "count/perf/try_open.hpp"
#include "model/trace/session.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/securebits.h>
#include <optional>
#include <sched.h>
#include <set>
#include <string>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace recount::emulate {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const std::string& fix) {
  throw unavailable("files of the emulated machine", what + ": " + std::strerror(errno), {}, fix);
}

std::string fix_of_write(int error) {
  switch (error) {
  case ENOSPC:
  case ENOMEM: return "free memory";
  case EMFILE:
  case ENFILE: return "ulimit -n 1024";
  default: return "set TMPDIR to a folder that can be written";
  }
}

/// Files in place of others, below a folder of their own.
class FileOverlay {
public:
  /// `bound`: this process is in a mount namespace of its own, where what has been bound stays.
  explicit FileOverlay(bool bound) : bound_(bound), folder_("recount-emulate") {
    if (!bound_)
      ::chmod(path().c_str(), 0755); // programs of the command may run as other users
    else if (::mount("recount", path().c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0)
      fail("tmpfs at " + path().string(), "set TMPDIR to a folder that can be written");
  }
  ~FileOverlay() {
    if (bound_) ::umount2(path().c_str(), MNT_DETACH);
  }
  /// Where the files are to be written.
  [[nodiscard]] fs::path path() const { return folder_.path(); }
  [[nodiscard]] bool bound() const { return bound_; }
  /// Writes a line of text to `file`, a path below path(), whose folders are created. Never through a
  /// symbolic link, which may lead to files of this machine. Throws recount::Error (unavailable).
  void write(const fs::path& file, const std::string& text) const {
    if (!write_below(file, text + "\n")) fail((path() / file).string(), fix_of_write(errno));
  }
  void write(const fs::path& folder, const Files& files) const {
    for (const auto& [name, text] : files)
      write(folder / name, text);
  }
  /// Where they are not bound: the folder, which must remain.
  [[nodiscard]] process::TemporaryFolder take_folder() { return std::move(folder_); }
  /// The file or folder `source` is found at `target`.
  void replace(const std::string& source, const std::string& target) {
    if (!bound_)
      redirections_ += target + "\t" + source + "\n";
    else
      bind(source, target);
  }
  /// The real `target` stays reachable at `link` below path(), whatever replaces it.
  void keep(const std::string& target, const std::string& link) {
    if (!bound_) return fs::create_directory_symlink(target, link);
    fs::create_directory(link);
    bind(target, link);
  }
  /// For the preload library: a target and its source per line, separated by a tab. Empty where they are
  /// bound.
  [[nodiscard]] const std::string& redirections() const { return redirections_; }

private:
  [[nodiscard]] bool write_below(const fs::path& file, const std::string& text) const {
    constexpr int never_through_links = O_NOFOLLOW | O_CLOEXEC;
    process::Fd folder(::open(path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (const fs::path& part : file.parent_path()) {
      if (::mkdirat(folder.get(), part.c_str(), 0755) != 0 && errno != EEXIST) return false;
      folder.reset(::openat(folder.get(), part.c_str(), O_PATH | O_DIRECTORY | never_through_links));
      if (!folder) return false;
    }
    const process::Fd to(::openat(folder.get(), file.filename().c_str(),
                                  O_WRONLY | O_CREAT | O_TRUNC | never_through_links, 0644));
    return to && process::write_all(to.get(), text);
  }
  static void bind(const std::string& source, const std::string& target) {
    if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
      fail("mount --bind over " + target, "see recount-emulate(1)");
  }
  bool bound_;
  process::TemporaryFolder folder_;
  std::string redirections_;
};

void demand(bool done, const std::string& what) {
  if (!done)
    throw unavailable("capabilities", fmt::format("{}: {}", what, std::strerror(errno)), {}, "run as root");
}

bool map_own_id(const char* file, unsigned id) {
  return base::write_file(file, fmt::format("{0} {0} 1", id));
}

bool enter() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0 &&
      (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !base::write_file("/proc/self/setgroups", "deny") ||
       !map_own_id("/proc/self/uid_map", user) || !map_own_id("/proc/self/gid_map", group)))
    return false;
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Some systems allow the namespace, and then no mount in it: as AppArmor of Ubuntu 24.04 does. A mount that
/// changes nothing is tried.
bool enter_and_mount() {
  return enter() && ::mount("/", "/", nullptr, MS_BIND, nullptr) == 0;
}

/// Moves this process into a mount namespace of its own; a user without the privilege into a user namespace,
/// too, where he keeps his number. False: not allowed, as in most containers, and nothing has changed.
bool enter_namespace() {
  const pid_t child = ::fork(); // who is half in a namespace cannot leave it
  if (child == 0) ::_exit(enter_and_mount() ? 0 : 1);
  int status = 1;
  const bool ended = child > 0 && ::waitpid(child, &status, 0) == child;
  return ended && status == 0 && enter();
}

void drop_capabilities() {
  constexpr unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED;
  // Without the capability for it, a user has none that this would take.
  demand(::prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) == 0 || (errno == EPERM && ::geteuid() != 0),
         "prctl(PR_SET_SECUREBITS)");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2]{};
  demand(::syscall(SYS_capset, &header, none) == 0, "capset");
}

const fs::path devices = "/sys/bus/event_source/devices", cpus = "/sys/devices/system/cpu",
               kernel_settings = "/proc/sys/kernel";
constexpr const char* cpuinfo = "/proc/cpuinfo";

void describe(const FileOverlay& overlay, const fs::path& folder, const PmuFiles& what,
              const Settings& settings) {
  overlay.write(folder,
                {{"perf_event_mux_interval_ms", fmt::format("{:.0f}", std::max(1.0, settings.mux_ms))},
                 {"rdpmc", settings.rdpmc ? "1" : "0"}});
  if (!what.cpus.empty()) overlay.write(folder / "cpus", what.cpus);
  for (const auto& [name, files] : {std::pair("format", &what.formats), std::pair("events", &what.aliases),
                                    std::pair("caps", &what.caps)}) {
    fs::create_directories(overlay.path() / folder / name);
    overlay.write(folder / name, *files);
  }
}

/// The PMUs of this machine that count cores, which the emulated ones replace.
bool counts_cores(const std::string& pmu) {
  return pmu == "cpu" || pmu == "cpu_core" || pmu == "cpu_atom" || pmu == "cpu_lowpower";
}

/// Whether the emulated machine has a PMU of that name or type, or one that counts in its place.
bool is_replaced(const SimulatedMachine& machine, const std::string& name, const std::string& type) {
  return counts_cores(name) ||
         std::ranges::any_of(machine.devices,
                             [&](const Device& one) { return name == one.name || name == one.like; }) ||
         std::ranges::any_of(machine.pmus, [&](const SimulatedPmu& one) {
           return name == one.name || type == std::to_string(one.type);
         });
}

void replace_pmus(const Settings& settings, FileOverlay& overlay) {
  const SimulatedMachine& machine = settings.machine;
  if (machine.pmus.empty()) return;
  const fs::path folder = "devices", copy = overlay.path() / folder;
  fs::create_directories(copy);
  const auto type = [](const std::string& pmu) {
    return base::read_trimmed(devices / pmu / "type").value_or("");
  };
  std::error_code ignored; // some containers have no such folder
  for (const auto& entry : fs::directory_iterator(devices, ignored))
    if (const std::string name = entry.path().filename(); !is_replaced(machine, name, type(name)))
      fs::create_symlink(fs::canonical(entry.path()), copy / name);
  for (const Device& device : machine.devices) {
    const std::string counted = type(device.like);
    if (counted.empty()) continue; // nothing here could count in its place
    describe(overlay, folder / device.name, device.description, settings);
    overlay.write(folder / device.name, {{"type", counted}, {"cpumask", device.cpumask}});
  }
  for (const SimulatedPmu& pmu : machine.pmus) {
    describe(overlay, folder / pmu.name, pmu.description, settings);
    overlay.write(folder / pmu.name / "type", std::to_string(pmu.type));
  }
  overlay.replace(copy, devices);
}

std::string emulated_cpuinfo(const Processor& cpu, const std::string& microcode) {
  const Files known{{"vendor_id", cpu.vendor},
                    {"cpu family", std::to_string(cpu.family)},
                    {"model", std::to_string(cpu.model)},
                    {"stepping", std::to_string(cpu.stepping) +
                                     "\nmicrocode\t: " + (microcode.empty() ? cpu.microcode : microcode)},
                    {"model name", cpu.name + " (emulated)"}};
  std::ifstream file(cpuinfo);
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("microcode")) continue; // which some guests do not state
    const std::string label = line.substr(0, line.find(':'));
    const auto found = std::ranges::find(known, label.substr(0, label.find_last_not_of("\t ") + 1),
                                         &Files::value_type::first);
    text += (found == known.end() ? line : label + ": " + found->second) + "\n";
  }
  return text;
}

void replace_cpuinfo(const SimulatedMachine& machine, const std::string& microcode, FileOverlay& overlay) {
  if (machine.processor.vendor.empty() || !fs::exists(cpuinfo)) return;
  overlay.write("cpuinfo", emulated_cpuinfo(machine.processor, microcode));
  overlay.replace(overlay.path() / "cpuinfo", cpuinfo);
}

/// As sysfs prints a set of CPUs: words of 32 bits, the highest first.
std::string bit_map(const std::vector<int>& set) {
  std::vector<std::uint32_t> words(1);
  for (const int cpu : set) {
    const auto word = static_cast<std::size_t>(cpu) / 32;
    if (word >= words.size()) words.resize(word + 1);
    words[word] |= std::uint32_t{1} << cpu % 32;
  }
  std::string text;
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", *word);
  return text;
}

Files cache_files(const CacheLevel& level, const std::string& cpu, const std::string& online) {
  const bool shared = level.name == "L3";
  const char kind = level.name.back();
  const std::string list = shared ? online : cpu;
  return {{"level", level.name.substr(1, 1)},
          {"type", kind == 'd'   ? "Data"
                   : kind == 'i' ? "Instruction"
                                 : "Unified"},
          {"size", fmt::format("{}K", level.size / 1024)},
          {"ways_of_associativity", std::to_string(level.ways)},
          {"coherency_line_size", std::to_string(level.line)},
          {"number_of_sets", std::to_string(level.size / level.ways / level.line)},
          {"physical_line_partition", "1"},
          {"shared_cpu_list", list},
          {"id", shared ? "0" : cpu},
          {"shared_cpu_map", bit_map(base::parse_cpu_list(list))}};
}

bool is_cpu(const std::string& name) {
  return name.size() > 3 && name.starts_with("cpu") &&
         std::all_of(name.begin() + 3, name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

void write_caches(const SimulatedMachine& machine, const FileOverlay& overlay, const fs::path& cpu,
                  const std::string& online) {
  const std::string number = cpu.filename().string().substr(3);
  for (std::size_t i = 0; i < machine.caches.size(); ++i)
    overlay.write(cpu / "cache" / fmt::format("index{}", i), cache_files(machine.caches[i], number, online));
}

/// Without a tree of Linux. In a mount namespace there is then nothing that it could replace: an error.
void make_cpus(const SimulatedMachine& machine, const FileOverlay& overlay, const fs::path& tree) {
  const int last = ::get_nprocs() - 1;
  const std::string online = last > 0 ? fmt::format("0-{}", last) : "0";
  overlay.write(tree, {{"online", online}, {"possible", online}, {"present", online}});
  for (int cpu = 0; cpu <= last; ++cpu)
    write_caches(machine, overlay, tree / fmt::format("cpu{}", cpu), online);
}

/// Every CPU gets the machine's cache folders, whether or not it has some. All other entries lead to the real
/// tree, which stays reachable within the new one.
void replace_caches(const SimulatedMachine& machine, FileOverlay& overlay) {
  if (machine.caches.empty()) return;
  const fs::path folder = "cpus", tree = overlay.path() / folder, real = ".linux";
  fs::create_directories(tree);
  if (!fs::exists(cpus)) {
    make_cpus(machine, overlay, folder);
    return overlay.replace(tree, cpus);
  }
  const std::string online = base::read_trimmed(cpus / "online").value_or("");
  overlay.keep(cpus, tree / real);
  for (const auto& entry : fs::directory_iterator(tree / real)) {
    const std::string name = entry.path().filename();
    if (!is_cpu(name) || !fs::is_directory(entry.status())) {
      fs::create_symlink(real / name, tree / name);
      continue;
    }
    fs::create_directories(tree / name);
    for (const auto& own : fs::directory_iterator(entry.path()))
      if (const std::string file = own.path().filename(); file != "cache")
        fs::create_symlink(".." / real / name / file, tree / name / file);
    write_caches(machine, overlay, folder / name, online);
  }
  overlay.replace(tree, cpus);
}

void replace_settings(const Settings& settings, bool unbacked, FileOverlay& overlay) {
  constexpr long user_mode_level = 2; // events do not reach Linux, so its level is not in force
  const auto paranoid = settings.paranoid || !unbacked ? settings.paranoid : user_mode_level;
  Files files{{"nmi_watchdog", settings.watchdog ? "1" : "0"}};
  files.insert(files.end(), settings.machine.settings.begin(), settings.machine.settings.end());
  if (paranoid) files.emplace_back("perf_event_paranoid", std::to_string(*paranoid));
  if (settings.mlock_kb) files.emplace_back("perf_event_mlock_kb", std::to_string(*settings.mlock_kb));
  for (const auto& [name, text] : files) {
    if (overlay.bound() && !fs::exists(kernel_settings / name)) continue;
    const fs::path file = fs::path("settings") / name;
    overlay.write(file, text);
    overlay.replace(overlay.path() / file, kernel_settings / name);
  }
}

/// The redirections for the preload library, which need the folder `kept`; none where the files are bound.
std::string replace_machine_files(const Settings& settings, const std::string& microcode, bool unbacked,
                                  std::optional<process::TemporaryFolder>& kept) {
  FileOverlay overlay(enter_namespace());
  try {
    replace_pmus(settings, overlay);
    replace_cpuinfo(settings.machine, microcode, overlay);
    replace_caches(settings.machine, overlay);
    replace_settings(settings, unbacked, overlay);
  } catch (const fs::filesystem_error& error) {
    throw unavailable("files of the emulated machine", error.what(), {}, "see recount-emulate(1)");
  }
  if (!overlay.bound()) kept.emplace(overlay.take_folder()); // else the command should not see it
  return overlay.redirections();
}

/// Where machines and the library are.
std::vector<fs::path> folders() {
  return trace::helper_folders("model/emulate");
}

/// `denied`: the first file that might be it and cannot be reached.
std::optional<std::string> installed(const fs::path& name, fs::path* denied = nullptr) {
  for (const fs::path& folder : folders()) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return fs::canonical(folder / name).string();
    if (error == std::errc::permission_denied && denied && denied->empty()) *denied = folder / name;
  }
  return {};
}

std::string library() {
  if (const char* const stated = std::getenv("RECOUNT_PMU_LIBRARY")) return stated; // tests add to it
  if (const auto found = installed("librecount-emulate.so")) return *found;
  throw unavailable("recount emulate", "librecount-emulate.so is missing from this installation", {},
                    "install recount again, or set RECOUNT_LIBEXEC to its folder");
}

constexpr const char* suffix = ".pmu";

/// Whether Linux, or who filters its system calls, lets this process open events: of software, in user mode.
bool opens_events() {
  perf_event_attr attr = perf::dummy_attr();
  const long fd = ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) ::close(static_cast<int>(fd));
  return fd >= 0;
}

} // namespace

std::vector<std::string> machine_names() {
  std::set<std::string> names;
  std::error_code ignored;
  for (const fs::path& folder : folders())
    for (const auto& entry : fs::directory_iterator(folder / "machines", ignored))
      if (entry.path().extension() == suffix) names.insert(entry.path().stem());
  return {names.begin(), names.end()};
}

std::string find_machine(const std::string& name) {
  if (name.find('/') == name.npos) {
    fs::path denied;
    if (const auto found = installed(fs::path("machines") / (name + suffix), &denied)) return *found;
    if (!denied.empty())
      throw bad_input(denied.lexically_normal(), std::strerror(EACCES),
                      "let this user read the folder, or set RECOUNT_LIBEXEC");
    throw bad_input(name, "no such machine", base::did_you_mean_or_all(name, machine_names()));
  }
  std::error_code error;
  const fs::path file = fs::canonical(name, error);
  if (error) throw bad_input(name, error.message(), "recount emulate --list names the machines");
  return file;
}

/// Whether events of the class can exist under the machine: by its PMUs, or by those of this one that stay.
bool is_class(const SimulatedMachine& machine, const std::string& name) {
  for (const char* const known : {"breakpoint", "tracepoint", "hardware"})
    if (name == known) return true;
  for (const auto& software : software_classes)
    if (name == software.first) return true;
  const auto named = [&](const auto& one) { return one.name == name; };
  return std::ranges::any_of(machine.pmus, named) || std::ranges::any_of(machine.devices, named) ||
         fs::exists(devices / name / "type");
}

bool has_event(const SimulatedMachine& machine, const std::string& name) {
  return std::ranges::any_of(machine.pmus, [&](const SimulatedPmu& pmu) {
    return std::ranges::find(pmu.rows, name, &SimulatedEvent::name) != pmu.rows.end();
  });
}

void check_names(const Settings& s) {
  for (const std::string& name : s.dead_classes)
    if (!is_class(s.machine, name)) throw std::runtime_error("no class \"" + name + "\" of events");
  for (const Injection& one : s.injections) {
    const auto calls = {"open", "read", "ioctl", "mmap"};
    if (std::ranges::find(calls, one.call) == calls.end())
      throw std::runtime_error("no call \"" + one.call + "\": open, read, ioctl or mmap");
    if (one.event != "any" && !has_event(s.machine, one.event) &&
        !(one.call == "open" && is_class(s.machine, one.event)))
      throw std::runtime_error("no event \"" + one.event + "\"");
  }
}

Settings checked_settings(const Emulation& emulation) {
  try {
    Settings settings = read_settings(emulation.machine_file, emulation.changes, emulation.options);
    check_names(settings);
    return settings;
  } catch (const std::exception& error) {
    throw bad_input("machine", error.what(), "see recount-emulate(1) for the format");
  }
}

namespace {

/// A program of ELF, as far as it can be read.
class Elf {
public:
  explicit Elf(const std::string& program)
      : in_(process::find_program(program).value_or(""), std::ios::binary) {
    if (!read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) head = {};
  }
  bool read(std::uint64_t at, auto& into) { return read(at, &into, sizeof into); }
  bool read(std::uint64_t at, void* into, std::size_t bytes) {
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(in_.read(static_cast<char*>(into), static_cast<std::streamsize>(bytes)));
  }
  Elf64_Ehdr head{}; ///< all 0 where it is no such program

private:
  std::ifstream in_;
};

} // namespace

bool is_static(const std::string& program) {
  Elf file(program);
  bool program_of_its_own = file.head.e_type == ET_EXEC;
  for (unsigned i = 0; i < file.head.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!file.read(file.head.e_phoff + i * sizeof part, part) || part.p_type == PT_INTERP) return false;
    if (part.p_type != PT_DYNAMIC) continue;
    Elf64_Dyn entry{}; // the dynamic linker itself, which may be the program, has no PT_INTERP either
    for (std::uint64_t at = 0; at + sizeof entry <= part.p_filesz && file.read(part.p_offset + at, entry);
         at += sizeof entry)
      if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0) program_of_its_own = true;
  }
  return program_of_its_own;
}

std::string impossible_sanitizer(const std::string& program) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  Elf file(program);
  for (unsigned i = 0; i < file.head.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!file.read(file.head.e_shoff + i * sizeof section, section)) break;
    if (section.sh_type != SHT_STRTAB || section.sh_size > most) continue;
    std::string names(section.sh_size, '\0');
    if (!file.read(section.sh_offset, names.data(), names.size())) continue;
    for (const auto& [symbol, name] :
         {std::pair("__asan_init", "AddressSanitizer"), std::pair("__msan_init", "MemorySanitizer")})
      if (names.find(std::string{'\0'} + symbol + '\0') != names.npos) return name;
  }
  return {};
}

EmulatedMachine::EmulatedMachine(const Emulation& emulation, const Settings& settings)
    : shared_("recount-events") {
  constexpr mode_t of_everybody = 0666, kept_by_owner = 01777;
  const std::string events = shared_.path() + "/events";
  if (!base::write_file(events, "")) fail(events, "set TMPDIR to a folder that can be written");
  ::chmod(events.c_str(), of_everybody); // programs of the command may run as other users
  ::chmod(shared_.path().c_str(), kept_by_owner);
  const bool unbacked = !opens_events();
  const std::string redirections = replace_machine_files(settings, emulation.microcode, unbacked, files_);
  const char* const preloaded = std::getenv("LD_PRELOAD");
  variables_ = {{"LD_PRELOAD", library() + (preloaded && *preloaded ? std::string(" ") + preloaded : "")},
                {"RECOUNT_PMU_MACHINE", emulation.machine_file},
                {"RECOUNT_PMU_SHARED", events},
                {"RECOUNT_PMU_CHANGES", emulation.changes},
                {"RECOUNT_PMU_FILES", redirections},
                {"RECOUNT_PMU_OPTIONS", emulation.options + (unbacked ? "unbacked 1\n" : "")}};
  if (emulation.unprivileged) drop_capabilities();
}

} // namespace recount::emulate
