#include "count/event/encode.hpp"

#include "base/format.hpp"
#include "base/host/cpu.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/event/event_file.hpp"
#include "count/event/pfm.hpp"
#include "count/event/sysfs.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <linux/hw_breakpoint.h>
#include <ranges>
#include <regex>
#include <strings.h>
#include <unistd.h>

namespace recount {

Domain domain(const Event& event) noexcept {
  if (event.attr.exclude_kernel) return Domain::user;
  return event.attr.exclude_user ? Domain::kernel : Domain::all;
}

Event encode(const std::string& name, Domain fallback) {
  return event::encode_over(name, fallback, event::pmus());
}

std::vector<Event> encode_each(const std::string& name, Domain fallback) {
  return event::encode_each_over(name, fallback, event::pmus());
}

} // namespace recount

namespace recount::event {
namespace {

/// Whether it has the form of a tracepoint, "sched:sched_switch", and tracefs cannot be read.
bool is_hidden_tracepoint(const std::string& name) {
  static const std::regex tracepoint("(perf::)?[a-z][a-z0-9_]*:[a-z*?\\[][^:/]*(:.*)?");
  return std::regex_match(name, tracepoint) && ::access("/sys/kernel/debug/tracing/events", R_OK) != 0 &&
         ::access("/sys/kernel/tracing/events", R_OK) != 0;
}

/// The CPUs of other machines that have an event of this name, by libpfm4: "Intel Skylake, ..."; empty: none.
std::string other_cpus_with(const std::string& name) {
  constexpr std::size_t max_named = 2;
  if (name.find("::") != std::string::npos) return {};
  const std::string event = name.substr(0, name.find_first_of(":."));
  std::vector<std::string> cpus;
  for (const pfm::Table& table : pfm::tables()) {
    if (table.kind != pfm::Table::Kind::core) continue;
    const auto all = pfm::entries(table);
    const bool has = std::ranges::any_of(
        all, [&](const pfm::Entry& entry) { return ::strcasecmp(entry.name.c_str(), event.c_str()) == 0; });
    if (has && table.present) return {};
    if (has) cpus.push_back(table.prose);
  }
  const std::size_t more = cpus.size() > max_named ? cpus.size() - max_named : 0;
  cpus.resize(cpus.size() - more);
  return fmt::format("{}{}", fmt::join(cpus, ", "), more > 0 ? fmt::format(" and {} more CPUs", more) : "");
}

[[noreturn]] void unknown(const std::string& name, const std::string& cause,
                          const std::vector<host::Pmu>& pmus) {
  if (const std::string pmu = absent_pmu(name); !pmu.empty())
    throw unavailable(name, "the event is in an event file, but this machine has no PMU " + pmu, {},
                      "recount doctor");
  if (is_preset(name))
    throw bad_input(
        name, "no such event: names with PAPI_ are presets, which PAPI makes of events",
        fmt::format("recount stat -e {0} counts it, recount presets {0} shows its events; in a program: "
                    "PapiSet of recount/papi.hpp, PAPI_add_named_event(3)",
                    name));
  if (const std::string others = other_cpus_with(name); !others.empty())
    throw bad_input(
        name, fmt::format("no such event on this CPU ({}); it is one of {}", host::this_cpu().name, others),
        "recount events PATTERN searches those of this CPU; --events-file FILE adds those that its "
        "vendor publishes");
  std::string fix = base::did_you_mean(suggestions(name, pmus));
  if (fix.empty() && is_hidden_tracepoint(name))
    throw bad_input(name, "no such event; tracepoints need a mounted and readable tracefs",
                    "as root: mount -t tracefs nodev /sys/kernel/tracing");
  if (fix.empty())
    fix = "recount events PATTERN searches the known events; --events-file FILE adds those of perf(1) or of "
          "the "
          "vendor";
  throw bad_input(name, cause, fix);
}

std::optional<Event> encode_pfm(const std::string& name, Domain fallback, pfm::Encoded& encoded) {
  const Modified modified = for_libpfm(name);
  encoded = pfm::encode(modified.name, fallback);
  if (!encoded.ok) return {};
  Event event;
  event.name = name;
  event.pmu = encoded.pmu;
  event.attr = encoded.attr;
  event.domain_given = modified.domain_given;
  // libpfm4 sets it by the privilege levels of this machine's CPU.
  event.attr.exclude_hv = domain(event) != Domain::all && !modified.hypervisor;
  event.present = encoded.present;
  return event;
}

/// The events of names in the notation of sysfs.
std::vector<Event> encode_all(const std::vector<std::string>& names, Domain fallback,
                              const std::vector<host::Pmu>& pmus) {
  return base::mapped(names, [&](const std::string& one) { return encode_sysfs(one, fallback, pmus); });
}

/// The same; a single one is called `name`.
std::vector<Event> encode_all(const std::vector<std::string>& names, const std::string& name, Domain fallback,
                              const std::vector<host::Pmu>& pmus) {
  auto each = encode_all(names, fallback, pmus);
  if (each.size() == 1) each.front().name = name;
  return each;
}

/// An event of a cache by perf's names that libpfm4 lacks.
std::optional<Event> cache_event(const std::string& name, Domain fallback) {
  const Split split = split_domain(name);
  const auto config = hardware_cache(split.name);
  if (!config) return {};
  Event event = make_event(name, "perf", PERF_TYPE_HW_CACHE, *config, split.domain, fallback);
  event.attr.exclude_guest = 1; // as libpfm4 and perf(1) have it
  return event;
}

/// The event of a name as an event file, libpfm4, tracefs or perf(1) have it.
std::vector<Event> encode_word(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  if (auto each = encode_all(file_names(name, pmus), name, fallback, pmus); !each.empty()) return each;
  pfm::Encoded encoded;
  if (auto event = encode_pfm(name, fallback, encoded)) return {*event};
  if (auto event = software_event(name, fallback)) return {*event};
  if (auto event = cache_event(name, fallback)) return {*event};
  if (auto each = tracepoints(name, fallback); !each.empty()) return each;
  if (auto each = encode_all(sysfs_names(name, pmus), name, fallback, pmus); !each.empty()) return each;
  if (auto event = raw_event(name, fallback)) return {*event};
  unknown(name, encoded.known ? encoded.failure : "no such event", pmus);
}

/// Before it is known whether a generic event has to be split by core types; one event for each core type
/// where the name is one of sysfs that several have.
std::vector<Event> encode_plain(const std::string& name, Domain fallback,
                                const std::vector<host::Pmu>& pmus) {
  if (name.empty()) throw bad_input("\"\"", "the event name is empty", "recount events lists events");
  if (name.starts_with("mem:")) return {encode_breakpoint(name, fallback)};
  if (in_sysfs_notation(name)) {
    const auto each = instances(name, pmus);
    return encode_all(each.empty() ? std::vector{name} : each, fallback, pmus);
  }
  return encode_word(name, fallback, pmus);
}

/// With the modifiers of perf(1). libpfm4 reads H as its own h, so they come first, unless the rest is no
/// event: then the end of the name is something else.
std::vector<Event> encode_known(const std::string& name, Domain fallback,
                                const std::vector<host::Pmu>& pmus) {
  const Modifiers modifiers = split_modifiers(name);
  if (!modifiers.any()) return encode_plain(name, fallback, pmus);
  pfm::Encoded edge; // "skl::L1D:REPLACEMENT:e": libpfm4's own e
  if (modifiers.exclusive && file_names(modifiers.name, pmus).empty())
    if (auto event = encode_pfm(name, fallback, edge)) return {*event};
  std::vector<Event> events;
  try {
    events = encode_plain(modifiers.name, fallback, pmus);
  } catch (const Error&) {
    return encode_plain(name, fallback, pmus);
  }
  for (Event& event : events) {
    apply(modifiers, event.attr);
    event.domain_given = event.domain_given || modifiers.hypervisor;
    if (events.size() == 1) event.name = name;
  }
  return events;
}

bool ambiguous(const Event& event) {
  return generic(event.attr) && event.attr.config >> 32 == 0;
}

} // namespace

std::vector<Event> encode_each_over(const std::string& name, Domain fallback,
                                    const std::vector<host::Pmu>& pmus) {
  auto events = encode_known(name, fallback, pmus);
  const auto cores = hybrid_cores(pmus);
  if (cores.empty() || events.size() > 1 || !ambiguous(events.front())) return events;
  return on_each_core(events.front(), cores);
}

Event encode_over(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  auto events = encode_each_over(name, fallback, pmus);
  if (events.size() == 1) return std::move(events.front());
  constexpr std::ptrdiff_t max_named = 4;
  const bool cores = core_of(events.front().attr, pmus) != nullptr,
             traced = events.front().attr.type == PERF_TYPE_TRACEPOINT;
  throw bad_input(name,
                  cores    ? "this CPU has several core types with separate PMUs"
                  : traced ? "several tracepoints match"
                           : "there are several PMUs of this name",
                  fmt::format("name one of them: {}", fmt::join(events | std::views::take(max_named) |
                                                                    std::views::transform(&Event::name),
                                                                " or ")));
}

std::size_t place_among(std::vector<Event>& events, const Event& event) {
  const auto same = [&](const Event& e) { return std::memcmp(&e.attr, &event.attr, sizeof e.attr) == 0; };
  const auto place = static_cast<std::size_t>(std::ranges::find_if(events, same) - events.begin());
  if (place == events.size()) events.push_back(event);
  return place;
}

namespace {

constexpr auto usage =
    "write mem:ADDRESS, mem:ADDRESS/LENGTH or mem:ADDRESS/LENGTH:rw, LENGTH 1, 2, 4 or 8 bytes, "
    "access r, w, rw or x, e.g. mem:0x7f0012345678/8:w";

/// HW_BREAKPOINT_R, _W and _X of the letters; 0 when they are not an access.
unsigned parse_access(std::string_view letters) {
  unsigned access = 0;
  for (const char letter : letters) {
    const unsigned bit = letter == 'r' ? 1U : letter == 'w' ? 2U : letter == 'x' ? 4U : 0U;
    if (bit == 0 || (access & bit) != 0) return 0;
    access |= bit;
  }
  return access;
}

} // namespace

Event encode_breakpoint(const std::string& name, Domain fallback) {
  const Split split = split_domain(name);
  std::string_view text = split.name.substr(4); // "mem:"
  unsigned access = HW_BREAKPOINT_RW;
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    access = parse_access(text.substr(colon + 1));
    if (access == 0 || (access & HW_BREAKPOINT_X && access != HW_BREAKPOINT_X))
      throw bad_input(name, "invalid access type: " + std::string(text.substr(colon + 1)), usage);
    text = text.substr(0, colon);
  }
  std::uint64_t length = access == HW_BREAKPOINT_X ? sizeof(long) : unsigned{HW_BREAKPOINT_LEN_4};
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto given = base::parse_number(text.substr(slash + 1));
    if (!given || (*given != 1 && *given != 2 && *given != 4 && *given != 8))
      throw bad_input(name, "invalid breakpoint length: " + std::string(text.substr(slash + 1)), usage);
    length = *given;
    text = text.substr(0, slash);
  }
  const auto address = base::parse_number(text);
  if (!address) throw bad_input(name, "no address: \"" + std::string(text) + "\"", usage);

  Event event = make_event(name, "breakpoint", PERF_TYPE_BREAKPOINT, 0, split.domain, fallback);
  event.attr.bp_type = access;
  event.attr.bp_addr = *address;
  event.attr.bp_len = length;
  return event;
}

namespace {

bool same_code(const perf_event_attr& a, const perf_event_attr& b) {
  return a.config == b.config && a.config1 == b.config1 && a.config2 == b.config2;
}

/// Whether an event of the PMU's list is that of the attr. An event with parameters is none.
bool is_event(const host::Pmu& pmu, const std::string& alias, const perf_event_attr& attr) {
  try {
    return same_code(encode_sysfs(pmu.name + "/" + alias + "/", Domain::all, {pmu}).attr, attr);
  } catch (const Error&) {
    return false;
  }
}

std::optional<double> parse_factor(const std::string& text) {
  const auto factor = base::parse<double>(text);
  return factor && *factor > 0 ? factor : std::nullopt;
}

} // namespace

std::optional<Scale> scale_of(const Event& event, const std::vector<host::Pmu>& pmus) {
  auto pmu = std::ranges::find(pmus, event.pmu, &host::Pmu::name);
  if (pmu == pmus.end()) pmu = std::ranges::find(pmus, event.attr.type, &host::Pmu::type); // named by libpfm4
  if (pmu == pmus.end() || pmu->core() || pmu->type != event.attr.type) return {};
  for (const auto& [alias, terms] : pmu->events) {
    const auto unit = pmu->units.find(alias);
    const auto scale = pmu->scales.find(alias);
    if ((unit == pmu->units.end() && scale == pmu->scales.end()) || !is_event(*pmu, alias, event.attr))
      continue;
    const auto factor = scale == pmu->scales.end() ? std::optional(1.0) : parse_factor(scale->second);
    if (!factor) return {}; // without it the unit would be wrong
    return Scale{*factor, unit == pmu->units.end() ? "" : unit->second};
  }
  return {};
}

std::vector<std::string> instances(const std::string& name, const std::vector<host::Pmu>& pmus) {
  if (!in_sysfs_notation(name)) return {};
  const std::string stem = name.substr(0, name.find('/')), full = "uncore_" + stem;
  if (std::ranges::find(pmus, stem, &host::Pmu::name) != pmus.end()) return {};
  const base::Pattern pattern(stem);
  std::vector<std::string> names;
  for (const host::Pmu& pmu : pmus)
    if (host::is_instance(pmu.name, stem) || pmu.name == full || host::is_instance(pmu.name, full) ||
        (pattern.glob() && pattern.matches(pmu.name)))
      names.push_back(pmu.name + name.substr(stem.size()));
  return names;
}

// The nearest names to an unknown one.
namespace {

struct Parts {
  std::string table, event, rest; ///< "skl", "L1D", "REPLACMENT:u"
};

Parts parts(const std::string& name) {
  Parts out;
  const auto prefix = name.find("::");
  const auto start = prefix == std::string::npos ? 0 : prefix + 2;
  if (prefix != std::string::npos) out.table = name.substr(0, prefix);
  const auto colon = name.find(':', start);
  out.event = name.substr(start, colon - start);
  if (colon != std::string::npos) out.rest = name.substr(colon + 1);
  return out;
}

bool same(const std::string& a, const std::string& b) {
  return strcasecmp(a.c_str(), b.c_str()) == 0;
}

/// Names of the unit masks and modifiers near the first one that the event does not have.
std::vector<std::string> near_attributes(const std::string& stem, const pfm::Entry& entry,
                                         const std::string& rest) {
  const auto names = base::mapped(pfm::attributes(entry), &pfm::Attribute::name);
  std::string done = stem;
  for (std::size_t at = 0; at <= rest.size();) {
    const auto end = std::min(rest.find(':', at), rest.size());
    const std::string part = rest.substr(at, end - at);
    const std::string key = part.substr(0, part.find('='));
    if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return same(name, key); })) {
      auto found = base::nearest(key, names);
      if (found.empty()) // no near match: all, unit masks first as libpfm4 lists them
        std::ranges::copy(names | std::views::take(4), std::back_inserter(found));
      for (std::string& name : found)
        name = done + ":" + name;
      return found;
    }
    done += ":" + part;
    at = end + 1;
  }
  return {};
}

/// What is meant by an event or something near it, in a table.
std::vector<std::string> in_table(const pfm::Table& table, const std::string& event,
                                  const std::vector<host::Pmu>& pmus) {
  const std::string name = table.name + "::" + event;
  if (pfm::encode(name, Domain::user).ok) return {name};
  return suggestions(name, pmus);
}

} // namespace

std::vector<std::string> suggestions(const std::string& name, const std::vector<host::Pmu>& pmus) {
  const Parts wanted = parts(name);
  if (wanted.table.empty() && !wanted.rest.empty()) // one colon after a table: "perf:PAGE-FAULTS"
    for (const pfm::Table& table : pfm::tables())
      if (same(table.name, wanted.event)) return in_table(table, wanted.rest, pmus);
  auto tables = pfm::tables();
  const auto table_names = base::mapped(tables, &pfm::Table::name);
  std::erase_if(tables, [&](const pfm::Table& table) {
    return wanted.table.empty() ? !table.present : !same(table.name, wanted.table);
  });
  if (tables.empty()) { // the table itself is mistyped
    auto near = base::nearest(wanted.table, table_names);
    for (std::string& table : near)
      table += name.substr(wanted.table.size());
    return near;
  }
  std::vector<std::string> candidates;
  const std::string prefix = wanted.table.empty() ? "" : wanted.table + "::";
  for (const pfm::Table& table : tables) {
    for (const pfm::Entry& entry : pfm::entries(table)) {
      if (same(entry.name, wanted.event) && !wanted.rest.empty())
        return near_attributes(prefix + entry.name, entry, wanted.rest);
      candidates.push_back(entry.name);
    }
  }
  if (wanted.table.empty())
    for (const host::Pmu& pmu : pmus) {
      for (const auto& [event, terms] : pmu.events)
        candidates.push_back(pmu.name + "/" + event + "/");
      for (const auto& [lower, event] : pmu.described)
        if (std::ranges::find(candidates, event.name) == candidates.end()) candidates.push_back(event.name);
    }
  auto near = base::nearest(wanted.event, candidates);
  for (std::string& candidate : near)
    if (candidate.find('/') == std::string::npos) candidate = prefix + candidate;
  return near;
}

Event make_event(const std::string& name, const char* pmu, std::uint32_t type, std::uint64_t config,
                 std::optional<Domain> given, Domain fallback) {
  Event event;
  event.name = name;
  event.pmu = pmu;
  event.attr.size = sizeof event.attr;
  event.attr.type = type;
  event.attr.config = config;
  event.domain_given = given.has_value();
  apply(given.value_or(fallback), event.attr);
  return event;
}

std::optional<Event> software_event(const std::string& name, Domain fallback) {
  constexpr std::pair<const char*, std::uint64_t> events[] = {
      {"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
      {"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
      {"dummy", PERF_COUNT_SW_DUMMY},
      {"bpf-output", PERF_COUNT_SW_BPF_OUTPUT}};
  const Split split = split_domain(name);
  for (const auto& [known, config] : events)
    if (split.name == known)
      return make_event(name, "software", PERF_TYPE_SOFTWARE, config, split.domain, fallback);
  return {};
}

std::optional<Event> raw_event(const std::string& name, Domain fallback) {
  const Split split = split_domain(name);
  if (split.name.size() < 2 || split.name.front() != 'r') return {};
  const auto code = base::parse<std::uint64_t>(split.name.substr(1), 16);
  if (!code) return {};
  return make_event(name, "perf_raw", PERF_TYPE_RAW, *code, split.domain, fallback);
}

Modifiers split_modifiers(const std::string& name) {
  constexpr unsigned max_precise = 3;
  const Modifiers none{name};
  const bool terms = in_sysfs_notation(name);
  const auto colon = name.rfind(terms ? '/' : ':');
  if (colon == std::string::npos || colon == 0 || (!terms && name[colon - 1] == ':')) return none;
  std::string letters = name.substr(colon + 1);
  if (terms && letters.starts_with(':')) letters.erase(0, 1);
  Modifiers found;
  std::string domain;
  for (const char letter : letters) {
    const bool again = letter != 'p' && std::ranges::count(letters, letter) > 1;
    if (again) return none;
    switch (letter) {
    case 'p': ++found.precise; break;
    case 'P': found.precise = max_precise; break;
    case 'G': found.guest = true; break;
    case 'H': found.host = true; break;
    case 'h': found.hypervisor = true; break;
    case 'I': found.not_idle = true; break;
    case 'D': found.pinned = true; break;
    case 'e': found.exclusive = true; break;
    case 'S':
    case 'W': found.of_groups = true; break;
    case 'u':
    case 'k': domain += letter; break;
    default: return none;
    }
  }
  found.domain = !domain.empty();
  if (!found.any() || found.precise > max_precise) return none;
  found.name = name.substr(0, colon + (terms ? 1U : 0U)) + (domain.empty() ? "" : ":" + domain);
  return found;
}

void apply(const Modifiers& modifiers, perf_event_attr& attr) {
  if (modifiers.precise > 0) attr.precise_ip = modifiers.precise & 3U;
  if (modifiers.hypervisor) {
    attr.exclude_hv = 0;
    if (!modifiers.domain) attr.exclude_user = attr.exclude_kernel = 1;
  }
  if (modifiers.not_idle) attr.exclude_idle = 1;
  if (modifiers.pinned) attr.pinned = 1;
  if (modifiers.exclusive) attr.exclusive = 1;
  if (!modifiers.guest && !modifiers.host) return;
  attr.exclude_host = modifiers.guest && !modifiers.host;
  attr.exclude_guest = modifiers.host && !modifiers.guest;
}

std::optional<Domain> parse_domain(std::string_view letters) {
  if (letters == "u") return Domain::user;
  if (letters == "k") return Domain::kernel;
  if (letters == "uk" || letters == "ku") return Domain::all;
  return {};
}

Split split_domain(std::string_view name) {
  const auto colon = name.rfind(':');
  if (colon == std::string_view::npos) return {name, {}};
  const auto domain = parse_domain(name.substr(colon + 1));
  return {domain ? name.substr(0, colon) : name, domain};
}

void apply(Domain domain, perf_event_attr& attr) {
  attr.exclude_user = domain == Domain::kernel;
  attr.exclude_kernel = domain == Domain::user;
  attr.exclude_hv = domain != Domain::all;
}

Modified for_libpfm(std::string_view name) {
  Modified out;
  const auto prefix = name.find("::");
  const auto start = prefix == std::string_view::npos ? 0 : prefix + 2;
  out.name = name.substr(0, start);
  bool first = true;
  for (std::string_view part : base::split(name.substr(start), ':')) {
    if (!first) out.name += ':';
    const auto key = part.substr(0, part.find('='));
    const bool letters = !first && (parse_domain(key) || key == "h");
    out.hypervisor = out.hypervisor || (letters && key == "h");
    out.domain_given = out.domain_given || letters;
    if (letters && part.size() == 2)
      out.name.append(part.substr(0, 1)).append(":").append(part.substr(1));
    else
      out.name += part;
    first = false;
  }
  return out;
}

} // namespace recount::event
