#include "count/papi/resolve.hpp"

#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "count/papi/event_set.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <papi.h>

#include <algorithm>
#include <string_view>

namespace recount::papi {

std::string pmus_here() {
  std::string names;
  for (const auto& pmu : host::pmus())
    names += (names.empty() ? "" : ", ") + pmu.name;
  return "/sys/bus/event_source/devices contains " + (names.empty() ? "nothing" : names);
}

namespace {

bool core_pmu_here() {
  return std::ranges::any_of(host::pmus(), &host::Pmu::core);
}

constexpr auto other_machine = "count on a machine with a core PMU (a virtual machine needs one passed "
                               "through), or count software events";

Error no_pmu(const std::string& name, std::string cause, std::string fix) {
  return {ErrorKind::unavailable,
          {name, Reason(std::move(cause), pmus_here(), std::move(fix), ReasonCode::no_pmu)}};
}

/// Known, but not countable here.
Error absent(const std::string& name, int code) {
  if (core_pmu_here())
    return unavailable(name, "PAPI cannot count it on this machine: " + describe(code), pmus_here());
  return no_pmu(name, "there is no core PMU here: " + describe(code), other_machine);
}

Error no_preset(const std::string& name) {
  const auto known = preset_names();
  if (std::find(known.begin(), known.end(), name) == known.end())
    return bad_input(name, "PAPI has no preset of this name", base::did_you_mean(name, known));
  constexpr auto undefined = "PAPI's table does not define it for this CPU";
  constexpr auto define = "define it in a table of your own and set PAPI_CSV_EVENT_FILE=FILE";
  if (core_pmu_here()) return unavailable(name, undefined, {}, define);
  return no_pmu(name, fmt::format("there is no core PMU here, and {}", undefined),
                fmt::format("{}: {}", other_machine, define));
}

Error no_native(const std::string& name, int code) {
  if (name.find('/') != std::string::npos || name.starts_with("mem:"))
    return bad_input(name, "PAPI accepts libpfm4's event names only, neither sysfs terms nor breakpoints",
                     "count it with the perf witness");
  if (name.find(":::") != std::string::npos) return error(name, "PAPI_event_name_to_code", code);
  try {
    (void)encode(name); // its Error names what is wrong, and the nearest names
  } catch (const Error& e) {
    return e;
  }
  return absent(name, code);
}

int find_component(const char* name) {
  const int at = PAPI_get_component_index(name);
  return at < 0 ? 0 : at;
}

} // namespace

int cpu_component() {
  return find_component("perf_event");
}

std::string component_name(int component) {
  const PAPI_component_info_t* info = PAPI_get_component_info(component);
  return info != nullptr ? info->name : fmt::format("{}", component);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  int code = PAPI_PRESET_MASK;
  int got = PAPI_enum_event(&code, PAPI_ENUM_FIRST);
  for (; got == PAPI_OK; got = PAPI_enum_event(&code, PAPI_ENUM_EVENTS)) {
    PAPI_event_info_t info{};
    if (PAPI_get_event_info(code, &info) == PAPI_OK) names.emplace_back(info.symbol);
  }
  return names;
}

Resolved resolve(const std::string& name, Domain domain) {
  int code = 0;
  const Qualified wanted = split_domain(name);
  int got = PAPI_event_name_to_code(wanted.name.c_str(), &code);
  if (is_preset(name) && got != PAPI_OK) throw no_preset(name);
  if (got != PAPI_OK) throw no_native(name, got);
  if (!IS_NATIVE(code)) {
    if (wanted.domain && *wanted.domain != domain)
      throw bad_input(name, "a preset follows the domain of its set", "set the domain of the set instead");
    if (PAPI_query_event(code) != PAPI_OK) throw no_preset(name);
    return {code, cpu_component()};
  }
  const int component = PAPI_get_event_component(code);
  if (component == cpu_component()) {
    const std::string exact = join_domain(wanted.name, wanted.domain.value_or(domain));
    got = PAPI_event_name_to_code(exact.c_str(), &code);
    if (got != PAPI_OK) throw error(name, "PAPI_event_name_to_code", got);
  }
  return {code, component};
}

Error refused(const std::string& name, int code, const std::vector<std::string>& others) {
  if (code == PAPI_ENOEVNT || code == PAPI_ECMP || code == PAPI_ENOSUPP) return absent(name, code);
  if (code == PAPI_ECNFLCT && !others.empty())
    return error(name,
                 fmt::format("cannot be counted together with {}: PAPI_add_event", fmt::join(others, ", ")),
                 code);
  return error(name, "PAPI_add_event", code);
}

namespace {

struct Bits {
  std::optional<bool> user, kernel;
};

/// Whether the attribute is about domains; sets its bit.
bool take(std::string_view attribute, Bits& bits) {
  if (attribute == "uk" || attribute == "ku") {
    bits.user = bits.kernel = true;
    return true;
  }
  if (attribute.empty() || (attribute[0] != 'u' && attribute[0] != 'k')) return false;
  const std::string_view rest = attribute.substr(1);
  const bool on = rest.empty() || rest == "=1" || rest == "=y" || rest == "=t";
  if (!on && rest != "=0" && rest != "=n" && rest != "=f") return false;
  (attribute[0] == 'u' ? bits.user : bits.kernel) = on;
  return true;
}

} // namespace

Qualified split_domain(const std::string& name) {
  // Attributes follow the event; the colons of "component:::" and "pmu::" come before it.
  const std::size_t pmu = name.rfind("::");
  const std::size_t event = pmu == std::string::npos ? 0 : pmu + 2;
  std::size_t at = name.find(':', event);
  Qualified out{name.substr(0, at), {}};
  Bits bits;
  while (at != std::string::npos) {
    const std::size_t next = name.find(':', at + 1);
    const std::string attribute = name.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    if (!take(attribute, bits)) out.name += ":" + attribute;
    at = next;
  }
  if (!bits.user && !bits.kernel) return out;
  // As libpfm4: a domain that is not named is not counted once the other one is.
  const bool user = bits.user.value_or(false), kernel = bits.kernel.value_or(false);
  if (!user && !kernel)
    throw bad_input(name, "its qualifiers leave no domain to count in", "use :u, :k or both");
  out.domain = user && kernel ? Domain::all : user ? Domain::user : Domain::kernel;
  return out;
}

std::string join_domain(const std::string& name, Domain domain) {
  return name + (domain == Domain::kernel ? ":u=0" : ":u=1") + (domain == Domain::user ? ":k=0" : ":k=1");
}

} // namespace recount::papi
