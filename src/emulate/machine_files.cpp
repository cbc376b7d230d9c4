#include "emulate/machine_files.hpp"

#include "base/output_file.hpp"
#include "base/text.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace recount::emulate {
namespace {

namespace fs = std::filesystem;

const fs::path devices = "/sys/bus/event_source/devices", cpus = "/sys/devices/system/cpu",
               kernel_settings = "/proc/sys/kernel";
constexpr const char* cpuinfo = "/proc/cpuinfo";

std::string first_line(const fs::path& file) {
  return base::read_line(file.string()).value_or("");
}

void write(const fs::path& folder, const std::string& name, const std::string& text) {
  fs::create_directories(folder);
  if (!base::write_file((folder / name).string(), text + "\n"))
    throw unavailable((folder / name).string(), std::strerror(errno), {}, "free memory");
}

void write(const fs::path& folder, const Files& files) {
  for (const auto& [name, text] : files)
    write(folder, name, text);
}

void describe(const fs::path& folder, const Description& what, const FileOptions& options) {
  write(folder, {{"perf_event_mux_interval_ms", fmt::format("{:.0f}", std::max(1.0, options.mux_ms))},
                 {"rdpmc", options.rdpmc ? "1" : "0"}});
  if (!what.cpus.empty()) write(folder, "cpus", what.cpus);
  for (const auto& [name, files] : {std::pair("format", &what.formats), std::pair("events", &what.aliases),
                                    std::pair("caps", &what.caps)}) {
    fs::create_directories(folder / name);
    write(folder / name, *files);
  }
}

/// The PMUs of this machine that count cores, which the emulated ones replace.
bool counts_cores(const std::string& pmu) {
  return pmu == "cpu" || pmu == "cpu_core" || pmu == "cpu_atom" || pmu == "cpu_lowpower";
}

void replace_pmus(const Machine& machine, const FileOptions& options, FileOverlay& overlay) {
  if (machine.pmus.empty()) return;
  const fs::path work = overlay.folder();
  const fs::path folder = work / "devices";
  fs::create_directories(folder);
  const auto hidden = [&](const std::string& name) {
    return counts_cores(name) ||
           std::ranges::find(machine.devices, name, &Device::like) != machine.devices.end();
  };
  std::error_code ignored; // some containers have no such folder
  for (const auto& entry : fs::directory_iterator(devices, ignored))
    if (const std::string name = entry.path().filename(); !hidden(name))
      fs::create_symlink(fs::canonical(entry.path()), folder / name);
  for (const Device& device : machine.devices) {
    const std::string type = first_line(devices / device.like / "type");
    describe(folder / device.name, device.description, options);
    write(folder / device.name, {{"type", type.empty() ? "0" : type}, {"cpumask", device.cpumask}});
  }
  for (const Pmu& pmu : machine.pmus) {
    describe(folder / pmu.name, pmu.description, options);
    write(folder / pmu.name, "type", std::to_string(pmu.type));
  }
  overlay.replace(folder, devices);
}

std::string emulated_cpuinfo(const Processor& cpu, const FileOptions& options) {
  const Files known{{"vendor_id", cpu.vendor},
                    {"cpu family", std::to_string(cpu.family)},
                    {"model", std::to_string(cpu.model)},
                    {"stepping", std::to_string(cpu.stepping)},
                    {"microcode", options.microcode.empty() ? cpu.microcode : options.microcode},
                    {"model name", cpu.name + " (emulated)"}};
  std::ifstream file(cpuinfo);
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const std::string label = line.substr(0, line.find(':'));
    const auto found = std::ranges::find(known, label.substr(0, label.find_last_not_of("\t ") + 1),
                                         &Files::value_type::first);
    text += (found == known.end() ? line : label + ": " + found->second) + "\n";
  }
  return text;
}

void replace_cpuinfo(const Machine& machine, const FileOptions& options, FileOverlay& overlay) {
  if (machine.processor.vendor.empty() || !fs::exists(cpuinfo)) return;
  const std::string file = overlay.folder() + "/cpuinfo";
  if (!base::write_file(file, emulated_cpuinfo(machine.processor, options)))
    throw unavailable(cpuinfo, std::strerror(errno), {}, "free memory");
  overlay.replace(file, cpuinfo);
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

/// Every CPU gets the machine's cache folders, whether or not it has some. All other entries lead to the real
/// tree, which stays reachable within the new one.
void replace_caches(const Machine& machine, FileOverlay& overlay) {
  if (machine.caches.empty() || !fs::exists(cpus)) return;
  const std::string online = first_line(cpus / "online");
  const fs::path tree = fs::path(overlay.folder()) / "cpus", real = ".linux";
  fs::create_directories(tree);
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
    for (std::size_t i = 0; i < machine.caches.size(); ++i)
      write(tree / name / "cache" / fmt::format("index{}", i),
            cache_files(machine.caches[i], name.substr(3), online));
  }
  overlay.replace(tree, cpus);
}

void replace_settings(const Machine& machine, const FileOptions& options, FileOverlay& overlay) {
  Files settings{{"nmi_watchdog", options.watchdog ? "1" : "0"}};
  settings.insert(settings.end(), machine.settings.begin(), machine.settings.end());
  if (options.paranoid) settings.emplace_back("perf_event_paranoid", std::to_string(*options.paranoid));
  if (options.mlock_kb) settings.emplace_back("perf_event_mlock_kb", std::to_string(*options.mlock_kb));
  const fs::path folder = fs::path(overlay.folder()) / "settings";
  for (const auto& [name, text] : settings) {
    if (overlay.bound() && !fs::exists(kernel_settings / name)) continue;
    write(folder, name, text);
    overlay.replace(folder / name, kernel_settings / name);
  }
}

} // namespace

void replace_machine_files(const Machine& machine, const FileOptions& options, FileOverlay& overlay) {
  try {
    replace_pmus(machine, options, overlay);
    replace_cpuinfo(machine, options, overlay);
    replace_caches(machine, overlay);
    replace_settings(machine, options, overlay);
  } catch (const fs::filesystem_error& error) {
    throw unavailable("files of the emulated machine", error.what(), {}, "see recount-emulate(1)");
  }
}

} // namespace recount::emulate
