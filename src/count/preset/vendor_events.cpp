#include "base/random.hpp"
#include "base/text.hpp"
#include "count/event/event_file.hpp"
#include "count/event/sysfs.hpp"
#include "count/preset/catalogue.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <tuple>

// Event files of vendors as a catalogue: CPUs that libpfm4 does not have.
namespace recount::preset {
namespace {

/// The bits of terms in the kernel's sysfs (arch/x86/events/intel/core.c and amd/core.c), as far as they are
/// in config. Other architectures have a number for each event.
host::Pmu make_pmu(std::string_view vendor) {
  host::Pmu pmu;
  pmu.name = "cpu";
  pmu.formats = {{"event", "config:0-63"}};
  if (const bool amd = vendor == "AMD "; amd || vendor == "Intel ")
    pmu.formats = {{"event", amd ? "config:0-7,32-35" : "config:0-7"},
                   {"umask", amd ? "config:8-15" : "config:8-15,40-47"},
                   {"edge", "config:18"},
                   {"inv", "config:23"},
                   {"cmask", "config:24-31"}};
  return pmu;
}

/// As libpfm4 begins its descriptions: by what only the files of one vendor have, else by the CPU's name.
std::string_view find_vendor(std::string_view text, std::string_view cpu) {
  if (text.find("\"SampleAfterValue\"") != text.npos) return "Intel ";
  if (text.find("\"UMask\"") != text.npos) return "AMD ";
  return cpu.starts_with("arm_") ? "ARM " : "";
}

/// Events of the Arm architecture, to which the files of its CPUs refer by name.
const CatalogueEvent* find_architectural(const std::string& name) {
  static const auto all = [] {
    std::map<std::string, CatalogueEvent> found;
    const Catalogue& catalogue = Catalogue::built_in();
    for (const auto& pmu : catalogue.pmus())
      if (pmu.name.starts_with("arm_"))
        for (auto& event : catalogue.events(pmu).events)
          found.emplace(event.entry.name, event);
    return found;
  }();
  const auto at = all.find(name);
  return at == all.end() ? nullptr : &at->second;
}

/// The config of perf_event_attr; a hash of the name where that is not the whole encoding.
std::uint64_t find_config(const host::Described& event, const host::Pmu& pmu) try {
  if (!event.problem.empty()) return base::fnv(event.name);
  return event::encode_sysfs("cpu/" + event.terms + "/", Domain::all, {pmu}).attr.config;
} catch (const Error&) { // a term that is not in config
  return base::fnv(event.name);
}

/// Lines of a catalogue by CPU, event and unit mask.
using Lines = std::map<std::tuple<std::string, std::string, std::string>, std::string>;

void add_event(const std::string& cpu, const host::Described& event, const host::Pmu& pmu, Lines& lines) {
  const CatalogueEvent* const known = event.terms.empty() ? find_architectural(event.name) : nullptr;
  if ((event.terms.empty() && !known) || event.name.starts_with('.')) return;
  std::string name = event.name;
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  const std::size_t dot = std::min(name.find('.'), name.size());
  std::string mask = name.substr(std::min(dot + 1, name.size()));
  std::ranges::replace(mask, '.', '_');
  name.resize(dot);
  const auto line = [&](char kind, std::uint64_t config, const std::string& prose) {
    return fmt::format("{}\t{:x}\t{}\t\t{}\n", kind, config, kind == 'E' ? name : mask, prose);
  };
  const std::string& prose = known && event.prose.empty() ? known->entry.prose : event.prose;
  const std::uint64_t config = known ? known->code : find_config(event, pmu);
  if (!mask.empty()) lines.try_emplace({cpu, name, ""}, line('E', 0, ""));
  lines.insert_or_assign({cpu, name, mask}, line(mask.empty() ? 'E' : 'U', config, prose));
}

void add_files(const std::string& given, Lines& lines) {
  const auto [name, path] = event::split_name(given);
  std::string all;
  std::vector<event::FileEvent> events;
  for (const std::string& file : event::list_files(path)) {
    const std::string text = base::require_file(file, "name an event file, or a folder of them");
    std::ranges::move(event::parse_event_file(text, base::printable(file)), std::back_inserter(events));
    all += text;
  }
  std::erase_if(events, [](const auto& one) { return !one.pmu.empty() && !one.pmu.starts_with("cpu_"); });
  if (name.empty() || events.empty() || base::printable(name) != name ||
      name.find_first_of(" ,:") != name.npos)
    throw bad_input("--events-file " + base::printable(given),
                    events.empty() ? "has no events of a core" : "does not name the CPU",
                    "name the CPU as in a preset table: --events-file lunarlake=FILE");
  const std::string_view vendor = find_vendor(all, name);
  const host::Pmu pmu = make_pmu(vendor);
  for (const auto& [unit, event] : events) {
    const std::string cpu = unit.empty() ? name : name + unit.substr(3); // "arrowlake_core"
    lines[{cpu, "", ""}] =
        fmt::format("P\t{}\t0\t0\t{}\t{}{}\nM\te i c u k\n", described_pmu, cpu, vendor, cpu);
    add_event(cpu, event, pmu, lines);
  }
}

} // namespace

Catalogue Catalogue::read(const std::vector<std::string>& event_files) {
  Lines lines;
  for (const std::string& file : event_files)
    add_files(file, lines);
  std::string text = "\n";
  for (const auto& [key, line] : lines)
    text += line;
  return of(std::move(text));
}

} // namespace recount::preset
