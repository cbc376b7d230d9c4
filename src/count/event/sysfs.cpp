#include "count/event/sysfs.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/event/encode.hpp"
#include "count/event/event_file.hpp"
#include "count/event/pfm.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <strings.h>

namespace recount::event {
namespace {

constexpr const char* config_names[] = {"config", "config1", "config2"};
constexpr __u64 perf_event_attr::*config_words[] = {&perf_event_attr::config, &perf_event_attr::config1,
                                                    &perf_event_attr::config2};

std::optional<unsigned> config_index(std::string_view name) {
  for (unsigned word = 0; word < std::size(config_words); ++word)
    if (name == config_names[word]) return word;
  return {};
}

/// Builds one event.
struct Builder {
  const host::Pmu& pmu;
  const std::string& name;
  perf_event_attr& attr;
  std::string title = {};                       ///< of the term "name="
  std::set<std::string> filled = {}, open = {}; ///< terms with a value; those of events as "core=?"

  void terms(std::string_view list, bool aliases) {
    for (const std::string_view part : base::split(list, ',')) {
      const std::string_view trimmed = base::trim(part);
      if (!trimmed.empty()) term(trimmed, aliases);
    }
  }

  void term(std::string_view text, bool aliases) {
    const auto equals = text.find('=');
    const std::string key(base::trim(text.substr(0, equals)));
    const bool bare = equals == std::string_view::npos;
    if (bare && aliases && pmu.events.contains(key)) return terms(pmu.events.at(key), false);
    if (bare && aliases && set_described(key)) return;
    if (bare && aliases && set_generic(key)) return;
    if (bare && aliases && set_raw(key)) return;
    if (key == "name" && aliases) { // how perf(1) shall call it
      title = base::trim(text.substr(equals == std::string_view::npos ? text.size() : equals + 1));
      return;
    }
    if (key == "percore" && bare && aliases) return; // counts of CPUs are always added up
    std::uint64_t value = 1;
    if (!bare) {
      const auto given = base::trim(text.substr(equals + 1));
      if (given == "?" && !aliases) { // a term of the user must fill it
        open.insert(key);
        return;
      }
      const auto number = base::parse_number(given);
      if (!number) throw bad_input(name, fmt::format("{} = \"{}\" is not a number", key, given));
      value = *number;
    }
    if ((key == "period" || key == "freq") && !bare && aliases && !pmu.formats.contains(key)) {
      attr.sample_period = value;
      attr.freq = key == "freq";
      return;
    }
    set(key, value);
    filled.insert(key);
  }

  /// An event of an event file, or an architectural one.
  bool set_described(const std::string& key) {
    const host::Described* const found = described(pmu, key);
    if (!found) return false;
    if (!found->problem.empty()) throw unavailable(name, found->problem);
    terms(found->terms, false);
    return true;
  }

  /// A generic event within one core type of a hybrid CPU: "cpu_atom/INSTRUCTIONS/".
  bool set_generic(const std::string& key) {
    if (!pmu.core() || pmu.formats.contains(key)) return false;
    const auto code = generic_on(key, pmu.type);
    if (!code) return false;
    attr.type = code->type;
    attr.config = code->config;
    return true;
  }

  /// The whole config in hexadecimal digits: "cpu/r1c0/".
  bool set_raw(const std::string& key) {
    if (key.size() < 2 || key.front() != 'r' || pmu.formats.contains(key)) return false;
    const auto code = base::parse_number("0x" + key.substr(1));
    if (!code) return false;
    attr.config = *code;
    return true;
  }

  void set(const std::string& key, std::uint64_t value) {
    if (const auto format = pmu.formats.find(key); format != pmu.formats.end())
      return store(parse_format(format->second, name), value, attr, name + " (" + key + ")");
    const auto word = config_index(key);
    if (!word) unknown(key);
    attr.*config_words[*word] = value;
  }

  [[noreturn]] void unknown(const std::string& key) const {
    std::vector<std::string> known{std::begin(config_names), std::end(config_names)};
    for (const auto& [event, terms] : pmu.events)
      known.push_back(event);
    for (const auto& [format, bits] : pmu.formats)
      known.push_back(format);
    const std::size_t listed = known.size();
    for (const auto& [lower, event] : pmu.described)
      known.push_back(event.name);
    std::string fix = base::did_you_mean(key, known);
    if (pmu.core() && (key == "mem-loads" || key == "mem-stores" || key == "ldlat"))
      fix =
          "only Intel's PMUs have it, with PEBS (in a virtual machine, if the host exposes it); AMD: sample "
          "ibs_op//";
    known.resize(listed);
    if (fix.empty()) fix = fmt::format("PMU {} takes {}", pmu.name, fmt::join(known, ", "));
    throw bad_input(name, fmt::format("PMU {} has no event or term \"{}\"", pmu.name, key), fix);
  }
};

const host::Pmu& find_pmu(std::string_view wanted, const std::string& name,
                          const std::vector<host::Pmu>& pmus) {
  for (const host::Pmu& pmu : pmus)
    if (pmu.name == wanted) return pmu;
  const auto names = base::mapped(pmus, &host::Pmu::name);
  if (wanted == "cpu" || wanted.starts_with("cpu_")) {
    std::vector<std::string> cores;
    for (const host::Pmu& pmu : pmus)
      if (pmu.core()) cores.push_back(pmu.name + name.substr(wanted.size()));
    const std::string cause = fmt::format("this kernel has no PMU \"{}\"", wanted);
    if (!cores.empty())
      throw bad_input(name, cause + "; its core PMUs have other names", base::did_you_mean(cores));
    throw unavailable(
        name, cause + " or other core PMU: a virtual machine without one, or a CPU unknown to Linux",
        names.empty() ? "" : fmt::format("PMUs: {}", fmt::join(names, ", ")),
        "count software events (recount events --pmu perf), or give the machine a PMU (qemu/KVM: "
        "-cpu host,pmu=on)");
  }
  throw bad_input(name, fmt::format("this kernel has no PMU \"{}\" (/sys/bus/event_source/devices)", wanted),
                  base::did_you_mean(wanted, names,
                                     names.empty()
                                         ? "this kernel has none"
                                         : fmt::format("this kernel has {}", fmt::join(names, ", "))));
}

} // namespace

const std::vector<host::Pmu>& pmus() {
  static const std::vector<host::Pmu> found = [] {
    std::vector<host::Pmu> all = host::pmus();
    add_chosen_files(all);
    return all;
  }();
  return found;
}

bool in_sysfs_notation(const std::string& name) {
  const auto slash = name.find('/');
  return slash != std::string::npos && slash > 0 && name.rfind('/') > slash && !name.starts_with("mem:");
}

bool separates_domains(const host::Pmu& pmu) {
  constexpr auto last_builtin = PERF_TYPE_BREAKPOINT;
  return pmu.core() || pmu.type <= last_builtin || pmu.name == "uprobe" || pmu.name == "kprobe";
}

Event encode_sysfs(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  const auto open = name.find('/'), close = name.rfind('/');
  const host::Pmu& pmu = find_pmu(std::string_view(name).substr(0, open), name, pmus);
  std::string_view letters = std::string_view(name).substr(close + 1);
  if (letters.starts_with(':')) letters.remove_prefix(1);
  const auto given = parse_domain(letters);
  if (!letters.empty() && !given)
    throw bad_input(name, fmt::format("no such modifier: \"{}\"", letters),
                    "after the last slash: :u, :k or :uk");

  Event event;
  event.name = name;
  event.pmu = pmu.name;
  event.attr.size = sizeof event.attr;
  event.attr.type = pmu.type;
  const std::string_view list = std::string_view(name).substr(open + 1, close - open - 1);
  Builder builder{pmu, name, event.attr};
  builder.terms(list, true);
  for (const std::string& key : builder.open)
    if (!builder.filled.contains(key))
      throw bad_input(name, "the event needs a value for " + key,
                      fmt::format("{}/{},{}=VALUE/", pmu.name, list, key));
  if (!builder.title.empty()) event.name = builder.title;
  event.domain_given = given.has_value();
  if (given || separates_domains(pmu)) apply(given.value_or(fallback), event.attr);
  event.attr.exclude_guest = pmu.core(); // as libpfm4, PAPI and perf(1) do for core events
  return event;
}

namespace {

Format::Range parse_range(std::string_view text, const std::string& subject) {
  const auto dash = text.find('-');
  const auto first = base::parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : base::parse_number(text.substr(dash + 1));
  if (!first || !last || *last > 63 || *first > *last)
    throw bad_input(subject, fmt::format("sysfs gives an invalid bit range \"{}\"", text));
  return {static_cast<unsigned>(*first), static_cast<unsigned>(*last)};
}

/// (1 << bits) - 1 without shifting by the whole width.
std::uint64_t ones(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

} // namespace

unsigned Format::width() const {
  unsigned bits = 0;
  for (const Range& range : ranges)
    bits += range.last - range.first + 1;
  return bits;
}

Format parse_format(std::string_view text, const std::string& subject) {
  const auto colon = text.find(':');
  const auto word = text.substr(0, colon);
  if (colon == std::string_view::npos || !word.starts_with("config"))
    throw bad_input(subject, fmt::format("sysfs gives an invalid format \"{}\"", text));
  const auto number = config_index(word);
  if (!number)
    throw unavailable(subject, fmt::format("uses perf_event_attr.{}, which this build does not know", word));
  return {*number, base::mapped(base::split(text.substr(colon + 1), ','),
                                [&](std::string_view part) { return parse_range(part, subject); })};
}

void store(const Format& format, std::uint64_t value, perf_event_attr& attr, const std::string& subject) {
  if (value > ones(format.width()))
    throw bad_input(
        subject, fmt::format("{:#x} does not fit into {}", value, base::format_count(format.width(), "bit")));
  auto& word = attr.*config_words[format.word];
  for (const Format::Range& range : format.ranges) {
    const unsigned bits = range.last - range.first + 1;
    word &= ~(ones(bits) << range.first);
    word |= (value & ones(bits)) << range.first;
    value = bits >= 64 ? 0 : value >> bits;
  }
}

namespace {

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

/// "PMU/EVENT/DOMAIN" for every PMU of which `find` gives the name of such an event; empty: none.
template <class Find>
std::vector<std::string> names_on(const std::string& name, const std::vector<host::Pmu>& pmus, Find find) {
  const auto colon = name.find(':');
  const std::string stem = name.substr(0, colon), rest = colon == std::string::npos ? "" : name.substr(colon);
  std::vector<std::string> names;
  for (const host::Pmu& pmu : pmus)
    if (const std::string event = find(pmu, stem); !event.empty())
      names.push_back(pmu.name + "/" + event + "/" + rest);
  return names;
}

/// The event of sysfs of this name, in any case.
std::string alias_of(const host::Pmu& pmu, const std::string& stem) {
  const auto same = [&](const auto& alias) { return strcasecmp(alias.first.c_str(), stem.c_str()) == 0; };
  const auto alias = is_word(stem) ? std::ranges::find_if(pmu.events, same) : pmu.events.end();
  return alias == pmu.events.end() ? std::string() : alias->first;
}

std::string described_name(const host::Pmu& pmu, const std::string& stem) {
  const host::Described* const found = described(pmu, stem);
  return found ? found->name : std::string();
}

} // namespace

std::vector<std::string> file_names(const std::string& name, const std::vector<host::Pmu>& pmus) {
  const bool hybrid = !hybrid_cores(pmus).empty();
  return names_on(name, pmus, [hybrid](const host::Pmu& pmu, const std::string& stem) {
    return pmu.described.empty() && !hybrid ? std::string() : described_name(pmu, stem);
  });
}

std::vector<std::string> sysfs_names(const std::string& name, const std::vector<host::Pmu>& pmus) {
  const auto on_cores = [](auto find) {
    return [find](const host::Pmu& pmu, const std::string& stem) {
      return pmu.core() ? find(pmu, stem) : std::string();
    };
  };
  auto names = names_on(name, pmus, on_cores(alias_of));
  if (names.empty()) names = names_on(name, pmus, on_cores(described_name));
  if (names.empty()) names = names_on(name, pmus, alias_of);
  return names;
}

namespace {
/// The folders in a folder whose names match, in their order.
std::vector<std::string> matching_folders(const std::string& folder, const base::Pattern& pattern) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const std::string name = at->path().filename(); is_word(name) && pattern.matches(name))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

} // namespace

std::vector<Event> tracepoints(const std::string& name, Domain fallback,
                               const std::vector<std::string>& roots) {
  const Split split = split_domain(name);
  const auto colon = split.name.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string subsystem(split.name.substr(0, colon)), event(split.name.substr(colon + 1));
  const base::Pattern pattern(event);
  std::vector<Event> found;
  if (!is_word(subsystem) || (!pattern.glob() && !is_word(event))) return found;
  for (const std::string& root : roots) {
    const std::string folder = root + "/events/" + subsystem + "/";
    std::vector<std::string> names{event};
    if (pattern.glob()) names = matching_folders(folder, pattern);
    for (const std::string& one : names) {
      const auto id = base::read_number(folder + one + "/id");
      if (!id || *id < 0) continue;
      const std::string full = pattern.glob() ? subsystem + ":" + one + name.substr(split.name.size()) : name;
      found.push_back(make_event(full, "tracepoint", PERF_TYPE_TRACEPOINT, static_cast<std::uint64_t>(*id),
                                 split.domain, fallback));
    }
    if (!found.empty()) return found;
  }
  return found;
}

namespace {

constexpr unsigned type_shift = 32; // PERF_PMU_TYPE_SHIFT
constexpr std::uint64_t code_mask = (std::uint64_t{1} << type_shift) - 1;

/// "perf::INSTRUCTIONS:u" without table and domain: what goes between the slashes.
std::string event_part(const std::string& name) {
  const std::string plain = split_modifiers(name).name;
  const std::string_view stem = split_domain(plain).name;
  const auto prefix = stem.find("::");
  return std::string(prefix == std::string_view::npos ? stem : stem.substr(prefix + 2));
}

const char* domain_suffix(const Event& event) {
  if (!event.domain_given) return "";
  const Domain where = domain(event);
  return where == Domain::user ? ":u" : where == Domain::kernel ? ":k" : ":uk";
}

} // namespace

std::vector<const host::Pmu*> hybrid_cores(const std::vector<host::Pmu>& pmus) {
  std::vector<const host::Pmu*> cores;
  for (const host::Pmu& pmu : pmus)
    if (pmu.core()) cores.push_back(&pmu);
  return cores.size() > 1 ? cores : std::vector<const host::Pmu*>{};
}

bool generic(const perf_event_attr& attr) noexcept {
  return attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE;
}

std::optional<Code> generic_on(const std::string& name, std::uint32_t pmu_type) {
  const std::uint64_t type_bits = std::uint64_t{pmu_type} << type_shift;
  const pfm::Encoded encoded = pfm::encode("perf::" + name, Domain::all);
  if (encoded.ok && generic(encoded.attr))
    return Code{encoded.attr.type, (encoded.attr.config & code_mask) | type_bits};
  if (const auto config = hardware_cache(name)) return Code{PERF_TYPE_HW_CACHE, *config | type_bits};
  return {};
}

const host::Pmu* core_of(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  const auto in_config = static_cast<std::uint32_t>(attr.config >> type_shift);
  const std::uint32_t default_type = PERF_TYPE_RAW;
  const std::uint32_t type = !generic(attr) ? attr.type : in_config == 0 ? default_type : in_config;
  for (const host::Pmu* core : hybrid_cores(pmus))
    if (core->type == type) return core;
  return nullptr;
}

namespace {
constexpr std::uint64_t slots_code = 0x0400;

bool has_slots(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  return std::ranges::any_of(pmus, [&](const host::Pmu& pmu) {
    return pmu.core() && pmu.type == attr.type && pmu.events.contains("slots");
  });
}
} // namespace

bool is_slots(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  return attr.config == slots_code && has_slots(attr, pmus);
}

bool is_topdown_metric(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  constexpr std::uint64_t first = 0x8000, last = 0x8700;
  return attr.config >= first && attr.config <= last && (attr.config & 0xff) == 0 && has_slots(attr, pmus);
}

perf_event_attr slots_event(perf_event_attr attr) noexcept {
  attr.config = slots_code;
  attr.config1 = attr.config2 = 0;
  return attr;
}

const std::vector<int>& cpus_of(const perf_event_attr& attr, const std::vector<host::Pmu>& pmus) {
  static const std::vector<int> all;
  if (const host::Pmu* const core = core_of(attr, pmus)) return core->cpus;
  for (const host::Pmu& pmu : pmus)
    if (!generic(attr) && pmu.type == attr.type && !pmu.core()) return pmu.cpumask;
  return all;
}

std::vector<Event> on_each_core(const Event& event, const std::vector<const host::Pmu*>& cores) {
  std::vector<Event> events;
  for (const host::Pmu* core : cores) {
    Event one = event;
    one.name = core->name + "/" + event_part(event.name) + "/" + domain_suffix(event);
    one.pmu = core->name;
    one.attr.config = (event.attr.config & code_mask) | std::uint64_t{core->type} << type_shift;
    events.push_back(one);
  }
  return events;
}

} // namespace recount::event
