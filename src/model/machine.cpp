#include "model/machine.hpp"

#include "base/nearest.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "model/family.hpp"
#include "model/shipped.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace recount::model {

namespace {

std::string slurp(const std::string& path) {
  if (auto text = base::read_file(path)) return *text;
  throw bad_input(path, std::string("cannot be read: ") + std::strerror(errno));
}

} // namespace

MachineDescription altered(MachineDescription machine, const std::string& part) {
  machine.name += "~" + part;
  constexpr std::string_view placement = "placement=";
  if (part.starts_with("l1=")) {
    machine = resized(std::move(machine), part.substr(3));
  } else if (part == "sample") {
    machine.sampled = true;
  } else if (part.starts_with(placement)) {
    machine.placement = parse_placement(std::string_view(part).substr(placement.size()));
    if (!machine.placement)
      throw bad_input(machine.name, "unknown placement of pages",
                      "one of any, contiguous, random, mixed, or a power of two from 1 to 512");
    if (machine.tlb) machine.placement->page = std::max(machine.placement->page, machine.tlb->page);
    machine.placement->huge_page = (machine.tlb ? *machine.tlb : TlbDescription{}).huge_page;
    if (machine.tlb && machine.placement->mixed && machine.tlb->huge.size() > machine.tlb->levels.size())
      throw bad_input(machine.name, "has more TLB levels for huge pages than for small ones",
                      "another placement than mixed");
  } else if (part == "pages" || part.starts_with("pages=")) {
    throw bad_input(machine.name, "~pages is ambiguous", page_options);
  } else if (part == "no-tlb") {
    machine.tlb.reset();
    if (machine.instructions) machine.instructions->tlb.clear();
  } else if (part.starts_with("cores=")) {
    const auto cores = base::parse_number(std::string_view(part).substr(std::string_view("cores=").size()));
    if (!cores || *cores < 1 || *cores > most_cores)
      throw bad_input(machine.name, "is not a number of cores from 1 to " + std::to_string(most_cores),
                      "as in ~cores=4");
    machine.cores = static_cast<std::int64_t>(*cores);
  } else if (part == "full") {
    for (LevelDescription& level : machine.levels) {
      level.ways = level.size / level.line;
      level.index.clear();
    }
    if (machine.instructions) {
      LevelDescription& cache = machine.instructions->cache;
      cache.ways = cache.size / cache.line;
      cache.index.clear();
    }
  } else {
    throw bad_input(machine.name, "unknown part of a machine \"" + part + "\"",
                    base::did_you_mean_or_all(
                        part, {"no-tlb", "full", "cores=N", "l1=SIZES/WAYS", "sample", "placement=any"}));
  }
  if (!machine.family.empty() && (machine.sampled || machine.placement || machine.cores > 1))
    throw bad_input(machine.name,
                    "a family of caches is simulated completely, on one core and with one placement",
                    "one size: ~l1=32K/8");
  return machine;
}

std::string without_modes(const std::string& name) {
  std::string kept;
  for (std::size_t from = 0; from < name.size();) {
    const std::size_t next = std::min(name.find('~', from + 1), name.size());
    const std::string_view part = std::string_view(name).substr(from, next - from);
    if (part != "~sample" && !part.starts_with("~placement=")) kept += part;
    from = next;
  }
  return kept;
}

bool sectored(const MachineDescription& machine) {
  return std::ranges::any_of(machine.levels, [](const LevelDescription& level) { return level.sector > 0; });
}

bool depends_on_placement(const MachineDescription& machine) {
  return machine.tlb || std::ranges::any_of(machine.levels, [](const LevelDescription& level) {
           return !level.index.empty() || level.line * level.sets() > Placement{}.page ||
                  !level.prefetch.empty();
         });
}

MachineDescription with_huge_pages(MachineDescription machine) {
  if (machine.placement) machine.placement->mixed = false;
  if (machine.placement)
    machine.placement->page = machine.tlb ? machine.tlb->huge_page : TlbDescription{}.huge_page;
  machine.instructions.reset(); // no kernel has its code in huge pages
  if (!machine.tlb) return machine;
  TlbDescription& tlb = *machine.tlb;
  constexpr int level_bits = 9; // of the address, that a level of the page table translates
  for (std::int64_t page = tlb.page; !tlb.walk.empty() && page << level_bits <= tlb.huge_page;
       page <<= level_bits)
    tlb.walk.erase(tlb.walk.begin());
  tlb.page = tlb.huge_page;
  if (!tlb.huge.empty()) tlb.levels = std::exchange(tlb.huge, {});
  return machine;
}

MachineDescription machine(const std::string& name) {
  const std::string_view before = before_sizes(name); // behind it a slash is none of a path
  const std::size_t slash = before.empty() ? name.rfind('/') : before.rfind('/');
  if (const auto tilde = name.rfind('~'); tilde != std::string::npos && tilde > slash + 1)
    return altered(machine(name.substr(0, tilde)), name.substr(tilde + 1));
  if (name == "host") return host_machine();
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return parse_machine(slurp(name), name);
  std::vector<std::string> known{"host"};
  for (const Shipped& shipped : shipped_machines()) {
    if (shipped.name == name) return parse_machine(shipped.json, name + ".json");
    known.emplace_back(shipped.name);
  }
  throw bad_input(name, "no such machine",
                  base::did_you_mean_or_all(name, known) + " A file needs a slash or .json");
}

std::optional<MachineDescription> shipped_machine(const std::string& name) {
  const auto names = machine_names();
  if (std::ranges::find(names, name.substr(0, name.find('~'))) == names.end()) return {};
  try {
    return machine(name);
  } catch (const Error&) { // a part of a machine that this recount does not know
    return {};
  }
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const Shipped& shipped : shipped_machines())
    names.emplace_back(shipped.name);
  return names;
}

} // namespace recount::model
