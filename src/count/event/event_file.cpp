#include "count/event/event_file.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>

namespace recount::event {
namespace {

constexpr std::size_t longest_name = 200, longest_prose = 1000;

bool good_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

/// Fields and the terms of sysfs that hold them, in the order of jevents.py.
constexpr std::pair<const char*, const char*> fields[] = {
    {"AnyThread", "any"},           {"PortMask", "ch_mask"},  {"CounterMask", "cmask"},
    {"EdgeDetect", "edge"},         {"FCMask", "fc_mask"},    {"Invert", "inv"},
    {"NodeType", "type"},           {"RdWrMask", "rdwrmask"}, {"EnAllCores", "enallcores"},
    {"EnAllSlices", "enallslices"}, {"SliceId", "sliceid"},   {"ThreadMask", "threadmask"}};

/// Other fields that terms() and parse() apply.
constexpr std::string_view applied[] = {
    "EventName", "Unit",   "Deprecated", "BriefDescription", "PEBS",     "ConfigCode", "EventidCode",
    "EventCode", "ExtSel", "UMask",      "UMaskExt",         "MSRIndex", "Filter"};

/// Numbers that describe an event, or how it is scheduled and sampled, in the files of perfmon and of perf:
/// no part of its encoding.
constexpr std::string_view descriptive =
    "CollectPEBSRecord Counter CounterHTOff Data_LA ELLC Equal Errata Experimental L1_Hit_Indication "
    "PDIR_COUNTER "
    "PDISTCounter PEBScounters PRECISE_STORE PerPkg Precise RetirementLatencyMax RetirementLatencyMean "
    "RetirementLatencyMin SampleAfterValue ScaleUnit Speculative TakenAlone";

/// Units that Linux does not call uncore_UNIT (unit_to_pmu() of jevents.py).
constexpr std::pair<const char*, const char*> units[] = {
    {"CBO", "uncore_cbox"},       {"QPI LL", "uncore_qpi"}, {"SBO", "uncore_sbox"},  {"iMPH-U", "uncore_arb"},
    {"UPI LL", "uncore_upi"},     {"L3PMC", "amd_l3"},      {"DFPMC", "amd_df"},     {"UMCPMC", "amd_umc"},
    {"cpu_core", "cpu_core"},     {"cpu_atom", "cpu_atom"}, {"CPU-M-CF", "cpum_cf"}, {"CPU-M-SF", "cpum_sf"},
    {"PAI-CRYPTO", "pai_crypto"}, {"PAI-EXT", "pai_ext"},   {"ali_drw", "ali_drw"},  {"arm_cmn", "arm_cmn"},
    {"imx8_ddr", "imx8_ddr"},     {"imx9_ddr", "imx9_ddr"}};

/// Events of fixed counters, which have the codes of the architectural events in Linux (real_event() of
/// jevents.py; fixed event constraints of arch/x86/events/intel/core.c).
constexpr std::pair<const char*, const char*> fixed_events[] = {
    {"inst_retired.any", "event=0xc0"},
    {"inst_retired.any_p", "event=0xc0"},
    {"cpu_clk_unhalted.thread", "event=0x3c"},
    {"cpu_clk_unhalted.core", "event=0x3c"},
    {"cpu_clk_unhalted.ref", "event=0x0,umask=0x3"},
    {"cpu_clk_unhalted.thread_any", "event=0x3c,any=1"}};

const char* find(const auto& table, std::string_view name) {
  const auto row = std::ranges::find_if(table, [&](const auto& one) { return name == one.first; });
  return row == std::end(table) ? nullptr : row->second;
}

/// One object of a file.
class Description {
public:
  Description(const Json& object, const std::string& file) : object_(object), file_(file) {}

  [[nodiscard]] std::optional<FileEvent> parse() {
    const bool named = object_.contains("EventName");
    const std::string name = text(named ? "EventName" : "ArchStdEvent");
    if (!good_name(name) || object_.contains("MetricExpr")) return {};
    subject_ = file_ + ": " + name;
    FileEvent out;
    if (const std::string unit = text("Unit"); !unit.empty()) {
      const char* const known = find(units, unit);
      out.pmu = known ? known : "uncore_" + base::lower_case(unit);
    }
    out.event.name = name;
    out.event.deprecated = number("Deprecated") == 1;
    out.event.prose = base::printable(text("BriefDescription").substr(0, longest_prose));
    if (number("PEBS") == 2) out.event.prose += " (must be precise)";
    const char* const fixed = find(fixed_events, base::lower_case(name));
    out.event.terms = fixed ? fixed : named || object_.contains("EventCode") ? terms() : std::string();
    if (problem_.empty()) problem_ = unapplied();
    out.event.problem = problem_;
    return out;
  }

private:
  /// A string, or a number as text; empty if it is missing or says that there is none.
  [[nodiscard]] std::string text(const char* field) const {
    const auto at = object_.find(field);
    if (at == object_.end() || at->is_null()) return {};
    if (at->is_boolean()) return at->get<bool>() ? "1" : "0";
    if (at->is_number_integer()) return dumped(*at);
    if (!at->is_string()) fail(field, dumped(*at));
    const std::string word(base::trim(at->get_ref<const std::string&>()));
    return word == "null" || word == "na" || word == "NA" ? std::string() : word;
  }

  /// The first number of a field, which may be a list: "0xB7, 0xBB" is one event for two registers.
  [[nodiscard]] std::uint64_t number(const char* field) const {
    const std::string all = text(field);
    if (all.empty()) return 0;
    const auto value = base::parse_number(base::trim(std::string_view(all).substr(0, all.find(','))));
    if (!value) fail(field, all);
    return *value;
  }

  [[noreturn]] void fail(const char* field, const std::string& value) const {
    throw bad_input(base::printable(subject_.empty() ? file_ : subject_),
                    fmt::format("{} = \"{}\" is not a number", field, base::printable(value.substr(0, 60))),
                    "use an event file of github.com/intel/perfmon or of the pmu-events of perf");
  }

  std::string terms() {
    std::string all;
    const auto add = [&all](const char* term, std::uint64_t value) {
      all += fmt::format("{}{}={:#x}", all.empty() ? "" : ",", term, value);
    };
    if (object_.contains("ConfigCode"))
      add("config", number("ConfigCode"));
    else if (object_.contains("EventidCode"))
      add("eventid", number("EventidCode"));
    else
      add("event", number("EventCode") | number("ExtSel") << 8);
    for (const auto& [field, term] : fields)
      if (const auto value = number(field); value != 0) add(term, value);
    constexpr unsigned extension_shift = 8; // of perfmon; the files of perf have one UMask of all bits
    if (const auto mask = number("UMask") | number("UMaskExt") << extension_shift; mask != 0)
      add("umask", mask);
    if (const auto index = number("MSRIndex"); index != 0) {
      const char* const term = register_term(index);
      if (term)
        add(term, number("MSRValue"));
      else
        problem_ = fmt::format("needs register {:#x}, for which perf_event has no term", index);
    }
    filter(all);
    return all;
  }

  /// Why the terms are not the whole encoding; empty: they are. What is no number is taken for a description.
  [[nodiscard]] std::string unapplied() const {
    if (!text("ArchStdEvent").empty() && !object_.contains("EventCode"))
      return "has the code of another file: ArchStdEvent = " + shown(text("ArchStdEvent"));
    const bool registers = number("MSRIndex") != 0;
    for (const auto& [name, value] : object_.items()) {
      if (std::ranges::count(applied, name) > 0 || std::ranges::count(base::words(descriptive), name) > 0 ||
          find(fields, name) != nullptr)
        continue;
      // Which registers, and what is in them.
      if (registers && (name == "MSRValue" || name == "Offcore" || name == "Offmodule")) continue;
      if (is_set(value))
        return fmt::format("{} = {} changes the event, and recount does not know how", shown(name),
                           shown(value.is_string() ? value.template get<std::string>() : dumped(value)));
    }
    return {};
  }
  /// A number other than 0, also as a text or a list of numbers in one; prose has numbers among its words.
  static bool is_set(const Json& value) {
    if (!value.is_string()) return (value.is_number() && value != 0) || value == true;
    bool any = false;
    for (const auto one : base::split(std::string_view(value.get_ref<const std::string&>()), ',')) {
      const auto number = base::parse_number(base::trim(one));
      if (!number) return false;
      any = any || *number != 0;
    }
    return any;
  }
  static std::string shown(const std::string& text) { return base::printable(text.substr(0, 60)); }

  /// The term that goes into a model-specific register (lookup_msr() of jevents.py).
  static const char* register_term(std::uint64_t index) {
    switch (index) {
    case 0x1a6:
    case 0x1a7: return "offcore_rsp";
    case 0x3f6: return "ldlat";
    case 0x3f7: return "frontend";
    default: return nullptr;
    }
  }

  /// Terms in the files of perf; in those of perfmon the names of registers, or of fields that are here.
  void filter(std::string& all) {
    const std::string wanted = text("Filter");
    if (wanted.empty() || wanted == "0" || wanted == "chnl" || wanted == "fc, chnl") return;
    if (wanted.find('=') != std::string::npos)
      all += "," + wanted;
    else
      problem_ = "needs a value for the filter " + base::printable(wanted.substr(0, longest_name)) +
                 ", which the file does not give as a term";
  }

  const Json& object_;
  const std::string& file_;
  std::string subject_, problem_;
};

/// SDM volume 3B, "Pre-defined Architectural Performance Events", by the names of Intel's event lists.
const std::vector<host::Described>& architectural_events() {
  static const std::vector<host::Described> all{
      {"inst_retired.any", "event=0xc0", "retired instructions"},
      {"inst_retired.any_p", "event=0xc0", "retired instructions"},
      {"cpu_clk_unhalted.thread", "event=0x3c", "core cycles"},
      {"cpu_clk_unhalted.thread_p", "event=0x3c", "core cycles"},
      {"cpu_clk_unhalted.core", "event=0x3c", "core cycles"},
      {"cpu_clk_unhalted.core_p", "event=0x3c", "core cycles"},
      {"cpu_clk_unhalted.ref_tsc", "event=0x0,umask=0x3", "cycles at the rate of the time-stamp counter"},
      {"longest_lat_cache.reference", "event=0x2e,umask=0x4f", "accesses to the last-level cache"},
      {"longest_lat_cache.miss", "event=0x2e,umask=0x41", "misses of the last-level cache"},
      {"br_inst_retired.all_branches", "event=0xc4", "retired branch instructions"},
      {"br_misp_retired.all_branches", "event=0xc5", "mispredicted retired branch instructions"}};
  return all;
}

/// By the formats of sysfs, so that it holds for any machine: the codes of AMD have four bits more.
bool is_intel_core(const host::Pmu& pmu) {
  const auto code = pmu.formats.find("event");
  return pmu.core() && pmu.name.starts_with("cpu") && code != pmu.formats.end() &&
         code->second == "config:0-7";
}

} // namespace

std::vector<FileEvent> parse_event_file(std::string_view text, const std::string& subject) {
  Json all;
  try {
    all = Json::parse(text);
  } catch (const Json::exception& error) {
    throw bad_input(base::printable(subject), base::printable(error.what()),
                    "an event file is JSON, as github.com/intel/perfmon and the pmu-events of perf have it");
  }
  const Json* events = &all;
  if (all.is_object()) {
    const auto at = all.find("Events");
    if (at == all.end()) return {};
    events = &*at;
  }
  std::vector<FileEvent> found;
  if (!events->is_array()) return found;
  for (const Json& object : *events)
    if (object.is_object())
      if (auto event = Description(object, subject).parse()) found.push_back(std::move(*event));
  return found;
}

std::vector<FileEvent> add_events(std::vector<host::Pmu>& pmus, std::vector<FileEvent> events,
                                  const std::string& core, const std::string& subject) {
  std::vector<std::string> cores;
  for (const host::Pmu& pmu : pmus)
    if (pmu.core()) cores.push_back(pmu.name);
  std::vector<FileEvent> absent;
  for (FileEvent& one : events) {
    if (one.pmu.empty()) {
      if (core.empty() && cores.size() > 1)
        throw bad_input(subject,
                        "the file does not name the core type of its events, and this CPU has several",
                        fmt::format("name it: {}={}", fmt::join(cores, "=FILE or "), subject));
      one.pmu = !core.empty() ? core : cores.empty() ? "cpu" : cores.front();
    }
    bool placed = false;
    for (host::Pmu& pmu : pmus)
      if (pmu.name == one.pmu || host::is_instance(pmu.name, one.pmu)) {
        placed = true;
        pmu.described[base::lower_case(one.event.name)] = one.event;
      }
    if (!placed) absent.push_back(std::move(one));
  }
  return absent;
}

std::pair<std::string, std::string> split_name(const std::string& given) {
  const auto equals = given.find('=');
  std::error_code error;
  if (equals == std::string::npos || given.find('/') < equals || std::filesystem::exists(given, error))
    return {"", given};
  return {given.substr(0, equals), given.substr(equals + 1)};
}

std::vector<std::string> list_files(const std::string& path, std::string_view suffix) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == suffix) found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

namespace {

struct Chosen {
  std::vector<std::string> files;
  std::vector<FileEvent> absent;
};

Chosen& chosen() {
  static Chosen all;
  return all;
}

void add_file(std::vector<host::Pmu>& pmus, const std::string& given) {
  const auto place = split_name(given);
  const std::string &core = place.first, &path = place.second;
  if (!core.empty() &&
      std::ranges::none_of(pmus, [&](const auto& pmu) { return pmu.name == core && pmu.core(); }))
    throw bad_input(base::printable(given), "this machine has no core PMU " + base::printable(core),
                    "leave " + base::printable(core) + "= out, or name one of /sys/bus/event_source/devices");
  bool any = false;
  for (const std::string& file : list_files(path)) {
    auto events = parse_event_file(base::require_file(file, "name an event file, or a folder of them"),
                                   base::printable(file));
    any = any || !events.empty();
    auto absent = add_events(pmus, std::move(events), core, base::printable(file));
    std::ranges::move(absent, std::back_inserter(chosen().absent));
  }
  if (!any)
    throw bad_input(base::printable(path), "has no events",
                    "name a file with EventName and EventCode, such as those of github.com/intel/perfmon");
}

} // namespace

void use_event_files(const std::vector<std::string>& files) {
  chosen().files = files;
}

const std::vector<std::string>& chosen_event_files() {
  return chosen().files;
}

void add_chosen_files(std::vector<host::Pmu>& pmus) {
  chosen().absent.clear();
  if (const char* const given = std::getenv("RECOUNT_EVENT_FILES"); given != nullptr)
    for (const std::string_view file : base::split(std::string_view(given), ':'))
      if (!file.empty()) add_file(pmus, std::string(file));
  for (const std::string& file : chosen().files)
    add_file(pmus, file);
}

std::string absent_pmu(const std::string& name) {
  const std::string wanted = base::lower_case(name.substr(0, name.find(':')));
  const auto same = [&](const FileEvent& one) { return base::lower_case(one.event.name) == wanted; };
  const auto found = std::ranges::find_if(chosen().absent, same);
  return found == chosen().absent.end() ? std::string() : found->pmu;
}

const host::Described* described(const host::Pmu& pmu, std::string_view name) {
  const std::string wanted = base::lower_case(name);
  if (const auto found = pmu.described.find(wanted); found != pmu.described.end()) return &found->second;
  if (!pmu.described.empty() || !is_intel_core(pmu)) return nullptr;
  const auto& known = architectural_events();
  const auto found = std::ranges::find(known, wanted, &host::Described::name);
  return found == known.end() ? nullptr : &*found;
}

} // namespace recount::event
