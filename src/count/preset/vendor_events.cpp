#include "base/random.hpp"
#include "base/text.hpp"
#include "count/event/event_file.hpp"
#include "count/event/sysfs.hpp"
#include "count/preset/catalogue.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <map>

// Event files of vendors as a catalogue: CPUs that libpfm4 does not have.
namespace recount::preset {
namespace {

/// The bits of terms in the kernel's sysfs (arch/x86/events/intel/core.c and amd/core.c), as far as they are
/// in config. Other architectures have a number for each event.
host::Pmu make_pmu(std::string_view vendor) {
  host::Pmu pmu;
  pmu.name = "cpu";
  pmu.formats = {{"event", "config:0-63"}};
  if (vendor == "Intel" || vendor == "AMD")
    pmu.formats = {{"event", vendor == "AMD" ? "config:0-7,32-35" : "config:0-7"},
                   {"umask", vendor == "AMD" ? "config:8-15" : "config:8-15,40-47"},
                   {"edge", "config:18"},
                   {"inv", "config:23"},
                   {"cmask", "config:24-31"}};
  return pmu;
}

/// By what only the files of one vendor have, else by the name of the CPU.
std::string_view find_vendor(std::string_view text, std::string_view cpu) {
  if (text.find("\"SampleAfterValue\"") != text.npos) return "Intel";
  if (text.find("\"UMask\"") != text.npos) return "AMD";
  return cpu.starts_with("arm_") ? "ARM" : "";
}

/// Codes of events of the Arm architecture, to which the files of its CPUs refer by name.
const std::map<std::string, std::uint64_t>& architectural_codes() {
  static const auto codes = [] {
    std::map<std::string, std::uint64_t> all;
    for (const auto& pmu : Catalogue::built_in().pmus())
      if (pmu.name.starts_with("arm_"))
        for (const auto& event : Catalogue::built_in().events(pmu).events)
          all.emplace(event.entry.name, event.code);
    return all;
  }();
  return codes;
}

/// The config of perf_event_attr; a hash of the name where that is not the whole encoding. None: unknown.
std::optional<std::uint64_t> find_code(const host::Described& event, const host::Pmu& pmu) try {
  if (event.terms.empty()) {
    const auto known = architectural_codes().find(event.name);
    return known == architectural_codes().end() ? std::nullopt : std::optional(known->second);
  }
  if (!event.problem.empty()) return base::fnv(event.name);
  return event::encode_sysfs("cpu/" + event.terms + "/", Domain::all, {pmu}).attr.config;
} catch (const Error&) { // a term that is not in config
  return base::fnv(event.name);
}

/// Lines of a catalogue by CPU and event; no event: the line of the PMU.
using Lines = std::map<std::string, std::map<std::string, std::string>>;

void add_files(const std::string& given, Lines& lines) {
  const auto [name, path] = event::split_name(given);
  std::string all;
  std::vector<event::FileEvent> events;
  for (const std::string& file : event::list_files(path)) {
    const std::string text = base::require_file(file, "name an event file, or a folder of them");
    std::ranges::move(event::parse_event_file(text, base::printable(file), true), std::back_inserter(events));
    all += text;
  }
  const std::string_view vendor = find_vendor(all, name);
  const host::Pmu pmu = make_pmu(vendor);
  std::erase_if(events, [](const auto& one) { return !one.pmu.empty() && !one.pmu.starts_with("cpu_"); });
  if (name.empty() || events.empty() || name.find_first_of("\t\r\n ,:") != name.npos)
    throw bad_input("--events-file " + base::printable(given),
                    events.empty() ? "has no events of a core" : "does not name the CPU",
                    "name it as in a preset table: --events-file lunarlake=FILE");
  for (const auto& [unit, event] : events) {
    const auto code = find_code(event, pmu);
    if (!code) continue;
    std::string own = event.name;
    std::ranges::transform(own, own.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (const auto dot = own.find('.'); dot != own.npos) own[dot] = ':';
    std::ranges::replace(own, '.', '_');
    const std::string cpu = unit.empty() ? name : name + unit.substr(3); // "arrowlake_core"
    lines[cpu][""] = fmt::format("P\t{}\t0\t0\t{}\t{} {}\nM\te i c u k\n", described_pmu, cpu, vendor, cpu);
    lines[cpu][own] = fmt::format("E\t{:x}\t{}\t\t{}\n", *code, own, event.prose);
  }
}

} // namespace

std::string event_file_lines(const std::vector<std::string>& files) {
  Lines lines;
  for (const std::string& file : files)
    add_files(file, lines);
  std::string text;
  for (const auto& [cpu, events] : lines)
    for (const auto& [event, line] : events)
      text += line;
  return text;
}

} // namespace recount::preset
