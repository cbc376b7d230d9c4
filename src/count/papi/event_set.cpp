#include "count/papi/event_set.hpp"

#include "base/format.hpp"
#include "base/host/event_class.hpp"
#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/process/signals.hpp"
#include "count/papi/library.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>
#include <recount/timers.hpp>

#include <fmt/format.h>
#include <papi.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace recount::papi {
namespace {

/// The domain of new sets for as long as it lives. PAPI_set_opt(PAPI_DOMAIN) on the set itself is no way: it
/// opens a hardware event to see whether the domain is allowed, and fails where there is no PMU.
class DefaultDomain {
public:
  explicit DefaultDomain(Domain domain) : lock_(mutex()) {
    check(set(domain == Domain::user     ? PAPI_DOM_USER
              : domain == Domain::kernel ? PAPI_DOM_KERNEL
                                         : PAPI_DOM_USER | PAPI_DOM_KERNEL),
          "domain", "PAPI_set_cmp_domain");
  }
  DefaultDomain(const DefaultDomain&) = delete;
  DefaultDomain& operator=(const DefaultDomain&) = delete;
  ~DefaultDomain() { set(PAPI_DOM_USER); }

private:
  static int set(int domain) { return PAPI_set_cmp_domain(domain, cpu_component()); }
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  std::lock_guard<std::mutex> lock_;
};

} // namespace

EventSet::EventSet(const std::vector<std::string>& names, Domain domain, pid_t process, bool inherit)
    : id_(PAPI_NULL), start_(current_start()), subject_(fmt::format("{}", fmt::join(names, ", "))) {
  if (names.empty()) throw bad_input("PAPI set", "no events given", "add at least one event");
  papi::check(PAPI_create_eventset(&id_), subject_, "PAPI_create_eventset");
  try {
    if (process != 0) attach(process, inherit);
    add(names, domain);
  } catch (...) {
    PAPI_cleanup_eventset(id_);
    PAPI_destroy_eventset(&id_);
    throw;
  }
}

EventSet::~EventSet() {
  if (!valid()) return;
  const process::CancelBlocked uncancelled; // PAPI reads and closes
  if (running_) PAPI_stop(id_, nullptr);
  PAPI_cleanup_eventset(id_);
  PAPI_destroy_eventset(&id_);
}

// PAPI_set_opt(3): to be inherited comes before events are added.
void EventSet::attach(pid_t process, bool inherit) {
  check(PAPI_assign_eventset_component(id_, cpu_component()), "PAPI_assign_eventset_component");
  PAPI_option_t option{};
  option.inherit.eventset = id_;
  option.inherit.inherit = inherit ? PAPI_INHERIT_ALL : PAPI_INHERIT_NONE;
  check(PAPI_set_opt(PAPI_INHERIT, &option), "PAPI_set_opt");
  check(PAPI_attach(id_, static_cast<unsigned long>(process)), "PAPI_attach");
}

namespace {

/// Throws where the event, or one of a preset's, is of a class that opens and counts nothing: PAPI would give
/// 0.
void require_alive(const std::string& name, int code) {
  std::vector<std::string> natives{name};
  PAPI_event_info_t info{};
  if (!IS_NATIVE(code) && PAPI_get_event_info(code, &info) == PAPI_OK)
    natives.assign(info.name, info.name + std::min<std::size_t>(info.count, PAPI_MAX_INFO_TERMS));
  for (const std::string& native : natives) {
    const auto component = native.find(":::"); // "perf_event:::perf::PAGE-FAULTS"
    const std::string event = component == native.npos ? native : native.substr(component + 3);
    if (!event.starts_with("perf::")) continue; // others belong to no class
    const Reason reason = host::dead_reason(encode(split_domain(event).name).attr);
    if (!reason.empty()) throw Error(ErrorKind::unavailable, {name, reason});
  }
}

} // namespace

void EventSet::add(const std::vector<std::string>& names, Domain domain) {
  std::vector<int> codes;
  std::vector<Resolved> events;
  for (const auto& name : names) {
    const Resolved event = resolve(name, domain);
    if (!events.empty() && event.component != events.front().component)
      throw bad_input(name,
                      fmt::format("belongs to PAPI's component {}, {} to {}: a set has one component",
                                  component_name(event.component), names.front(),
                                  component_name(events.front().component)),
                      "count them in two sets");
    if (const auto twin = std::find(codes.begin(), codes.end(), event.code); twin != codes.end())
      throw bad_input(name, "is in the set twice: " + describe(PAPI_ECNFLCT), "name it once");
    events.push_back(event);
    codes.push_back(event.code);
    if (event.component == cpu_component()) require_alive(name, event.code);
  }
  const DefaultDomain scope(domain);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const int got = PAPI_add_event(id_, codes[i]); got != PAPI_OK)
      throw refused(names[i], got, {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i)});
  }
}

void EventSet::check(int code, const char* call) const {
  if (code != PAPI_OK) throw error(subject_, call, code);
}

bool EventSet::valid() const noexcept {
  return start_ == current_start() && PAPI_is_initialized() != PAPI_NOT_INITED;
}

void EventSet::require_valid() const {
  if (!valid())
    throw unavailable(subject_, "PAPI was shut down since this set was created", {}, "create a new set");
}

void EventSet::start() {
  require_valid();
  check(PAPI_start(id_), "PAPI_start");
  running_ = counted_ = true;
}

void EventSet::stop(long long* values) {
  require_valid();
  check(PAPI_stop(id_, values), "PAPI_stop");
  running_ = false;
}

void EventSet::read(long long* values) {
  require_valid();
  // PAPI gives zeroes for a set that never ran; those would be no counts.
  check(counted_ ? PAPI_read(id_, values) : PAPI_ENOTRUN, "PAPI_read");
}

void EventSet::accumulate(long long* values) {
  require_valid();
  check(running_ ? PAPI_accum(id_, values) : PAPI_ENOTRUN, "PAPI_accum");
}

void EventSet::reset() {
  require_valid();
  check(running_ ? PAPI_reset(id_) : PAPI_ENOTRUN, "PAPI_reset");
}

Reason try_once(const std::vector<std::string>& names, Domain domain) noexcept try {
  register_thread();
  std::vector<long long> values(names.size());
  EventSet set(names, domain);
  set.start();
  set.read(values.data());
  set.stop(values.data());
  return {};
} catch (const Error& e) {
  return e.problem();
} catch (const std::exception& e) {
  return Reason(e.what());
}

namespace {

/// By the negated code, as in papiErrorCodes.h: PAPI has no function for names.
constexpr const char* code_names[] = {
    "OK",         "EINVAL",  "ENOMEM",  "ESYS",   "ECMP",          "ECLOST",      "EBUG",
    "ENOEVNT",    "ECNFLCT", "ENOTRUN", "EISRUN", "ENOEVST",       "ENOTPRESET",  "ENOCNTR",
    "EMISC",      "EPERM",   "ENOINIT", "ENOCMP", "ENOSUPP",       "ENOIMPL",     "EBUF",
    "EINVAL_DOM", "EATTR",   "ECOUNT",  "ECOMBO", "ECMP_DISABLED", "EDELAY_INIT", "EMULPASS"};
static_assert(std::size(code_names) == 1 - PAPI_EMULPASS);

struct Fix {
  int code;
  const char* text;
};
constexpr Fix fixes[] = {
    {PAPI_ESYS, "if the limit on open files is reached: ulimit -n 4096"},
    {PAPI_ECLOST, "stop the other user of the counters and repeat"},
    {PAPI_ECNFLCT, "count fewer events in one set, or in several sets one after the other"},
    {PAPI_ENOTRUN, "call start() first"},
    {PAPI_EISRUN, "stop the running set first: PAPI runs one set per component and thread"},
    {PAPI_EPERM, "sudo sysctl kernel.perf_event_paranoid=1 (2 allows user mode only)"},
    {PAPI_ENOCMP, "give the set at least one event"},
    {PAPI_EATTR, "list the attributes of an event with: recount events NAME"},
    {PAPI_ECMP_DISABLED, "recount doctor"},
};

constexpr int bad_inputs[] = {PAPI_EINVAL,     PAPI_ENOTRUN, PAPI_EISRUN, PAPI_ENOEVST,
                              PAPI_ENOTPRESET, PAPI_ENOCMP,  PAPI_EBUF,   PAPI_EINVAL_DOM,
                              PAPI_EATTR,      PAPI_ECOUNT,  PAPI_ECOMBO};

} // namespace

std::string describe(int code) {
  const auto number = static_cast<std::size_t>(-code);
  const char* text = PAPI_strerror(code); // none before PAPI is initialised
  return fmt::format(
      "{} ({}){}", number < std::size(code_names) ? std::string("PAPI_") + code_names[number] : "PAPI error",
      code, text != nullptr ? std::string(": ") + text : "");
}

Error error(std::string subject, const std::string& call, int code) {
  const auto* const fix = std::ranges::find(fixes, code, &Fix::code);
  const bool bad = std::ranges::count(bad_inputs, code) > 0;
  return {bad ? ErrorKind::bad_input : ErrorKind::unavailable,
          {std::move(subject), Reason(fmt::format("{} returned {}", call, describe(code)), {},
                                      fix != std::end(fixes) ? fix->text : "")}};
}

void check(int code, const std::string& subject, const char* call) {
  if (code != PAPI_OK) throw error(subject, call, code);
}

} // namespace recount::papi

// The public event set: PAPI's, behind a guard against tables that crash it.
namespace recount {

struct PapiSet::State {
  std::vector<std::string> names;
  papi::EventSet set;
};

namespace {

/// A formula with a term that does not exist loads without complaint and aborts when it is read. The trial
/// is made on a thread of its own, else a set that runs on this one would be in its way: PAPI would refuse a
/// second one, and stopping the first in the child would stop it here (the descriptors are shared).
void try_in_child(const std::vector<std::string>& names, Domain domain) {
  papi::survive([&](int) { std::thread([&] { (void)papi::try_once(names, domain); }).join(); },
                fmt::format("counting {}", fmt::join(names, ", ")));
}

void require_room(std::size_t have, std::size_t want) {
  if (have < want)
    throw bad_input("PAPI set", fmt::format("has {}, the buffer holds {}", base::format_count(want, "event"),
                                            base::format_count(have, "value")));
}

} // namespace

PapiSet::PapiSet(std::vector<std::string> names, Domain domain) {
  papi::initialise();
  papi::register_thread();
  if (!papi::private_tables().empty()) try_in_child(names, domain);
  const auto& list = names;
  state_ = std::unique_ptr<State>(new State{list, {list, domain}});
}
PapiSet::PapiSet(PapiSet&&) noexcept = default;
PapiSet& PapiSet::operator=(PapiSet&&) noexcept = default;
PapiSet::~PapiSet() = default;

void PapiSet::start() {
  state_->set.start();
}

std::vector<long long> PapiSet::stop() {
  std::vector<long long> values(size());
  state_->set.stop(values.data());
  return values;
}

std::vector<long long> PapiSet::read() {
  std::vector<long long> values(size());
  state_->set.read(values.data());
  return values;
}

void PapiSet::read(std::span<long long> values) {
  require_room(values.size(), size());
  state_->set.read(values.data());
}

void PapiSet::stop(std::span<long long> values) {
  require_room(values.size(), size());
  state_->set.stop(values.data());
}

void PapiSet::accumulate(std::vector<long long>& values) {
  if (values.empty()) values.resize(size());
  require_room(values.size(), size());
  state_->set.accumulate(values.data());
}

void PapiSet::reset() {
  state_->set.reset();
}

bool PapiSet::running() const noexcept {
  return state_->set.running();
}
std::size_t PapiSet::size() const noexcept {
  return state_->names.size();
}
const std::vector<std::string>& PapiSet::names() const noexcept {
  return state_->names;
}

} // namespace recount

namespace recount::papi {

long long real_ns() {
  return initialise(), PAPI_get_real_nsec();
}
long long real_us() {
  return initialise(), PAPI_get_real_usec();
}
long long real_cycles() {
  return initialise(), PAPI_get_real_cyc();
}
long long virtual_ns() {
  return initialise(), PAPI_get_virt_nsec();
}
long long virtual_us() {
  return initialise(), PAPI_get_virt_usec();
}
long long virtual_cycles() {
  return initialise(), PAPI_get_virt_cyc();
}

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
