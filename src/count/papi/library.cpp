#include "count/papi/library.hpp"

#include "base/host/pmu.hpp"
#include "base/json.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "count/papi/event_set.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <papi.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <perfmon/pfmlib.h>

namespace recount::papi {
namespace {

/// Some tables crash PAPI when it starts, others when a preset of theirs is described: describes them all.
/// Writes which one is next, so that the parent can name it.
void read_tables(int fd) {
  int code = PAPI_PRESET_MASK;
  for (int got = PAPI_enum_event(&code, PAPI_ENUM_FIRST); got == PAPI_OK;
       got = PAPI_enum_event(&code, PAPI_ENUM_EVENTS)) {
    std::array<char, PAPI_MAX_STR_LEN> name{};
    if (PAPI_event_code_to_name(code, name.data()) != PAPI_OK) continue;
    ::dprintf(fd, "%s\n", name.data());
    PAPI_event_info_t info{};
    PAPI_get_event_info(code, &info);
  }
}

std::atomic<unsigned> starts = 0; ///< of PAPI by recount

/// A thread as PAPI knows it.
struct Registration {
  unsigned start = 0;  ///< during which it was registered; 0: not yet
  bool master = false; ///< PAPI's own: the thread that initialised it
  ~Registration() {
    // Sets with static storage duration outlive the main thread's registration.
    const bool main_thread = ::gettid() == ::getpid();
    if (start == starts && !master && !main_thread) PAPI_unregister_thread();
  }
};
constinit thread_local Registration registration;

std::string last_line(std::string text) {
  if (!text.empty()) text.pop_back();
  return text.substr(text.rfind('\n') + 1); // all of it when there is no line end
}

std::string name_tables() {
  std::string text;
  for (const auto& table : private_tables())
    text += (text.empty() ? "" : ", ") + table.variable + " = " + table.path;
  return text;
}

/// Why a table cannot be read; empty when it can.
std::string unreadable(const Table& table) {
  const int fd = ::open(table.path.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  const bool readable = fd >= 0 && ::read(fd, &byte, 1) >= 0;
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  return readable ? std::string{} : fmt::format("cannot be read: {}", std::strerror(reason));
}

} // namespace

std::vector<Table> private_tables() {
  std::vector<Table> tables;
  for (const char* variable : {"PAPI_CSV_EVENT_FILE", "PAPI_USER_EVENTS_FILE"}) {
    const char* path = std::getenv(variable);
    if (path != nullptr && *path != '\0') tables.push_back({variable, path});
  }
  return tables;
}

void initialise_unguarded() {
  const int got = PAPI_library_init(PAPI_VER_CURRENT);
  if (got > 0 && got != PAPI_VER_CURRENT)
    throw unavailable("PAPI",
                      fmt::format("the library at run time is version {}, this program was built for {}",
                                  version(), PAPI_VERSION_MAJOR(PAPI_VER_CURRENT)),
                      {}, "rebuild against the installed libpapi");
  if (got != PAPI_VER_CURRENT) throw error("PAPI", "PAPI_library_init", got);
  check(PAPI_thread_init([] { return static_cast<unsigned long>(::pthread_self()); }), "PAPI",
        "PAPI_thread_init");
  registration.master = true;
  ++starts;
}

unsigned current_start() noexcept {
  return starts;
}

void register_thread() {
  if (registration.start == starts) return;
  check(PAPI_register_thread(), "thread", "PAPI_register_thread");
  registration.start = starts;
}

Reason unanswered(const std::string& doing, const process::Exit& exit) {
  if (exit.how == process::Exit::How::timed_out)
    return {fmt::format("PAPI was not done with {}: a trial child was {}", doing, process::describe(exit)),
            {},
            "try again on a machine that is less busy",
            ReasonCode::interrupted};
  return {
      fmt::format("PAPI crashes while {}: a trial child was {}", doing, process::describe(exit)),
      {},
      "check the table: a missing or unknown type, an unknown second term, and a formula that uses a term "
      "it does not have all crash PAPI 7.0",
      ReasonCode::crash};
}

Error crashed(const std::string& doing, const process::Exit& exit) {
  const auto tables = private_tables();
  Reason reason = unanswered(doing, exit);
  reason.setting = name_tables();
  return {ErrorKind::unavailable, {tables.empty() ? "PAPI" : tables.front().path, std::move(reason)}};
}

void survive(const std::function<void(int)>& body, const std::string& doing) {
  const auto child = process::in_fork(
      [&](int fd) {
        body(fd);
        return 0;
      },
      std::chrono::seconds(20));
  if (child.exit.how == process::Exit::How::exited) return;
  throw crashed(last_line(child.out).empty() ? doing : doing + ", at " + last_line(child.out), child.exit);
}

void require_readable_tables() {
  for (const auto& table : private_tables()) {
    if (const auto problem = unreadable(table); !problem.empty())
      throw Error(ErrorKind::bad_input, {table.path, Reason(problem, table.variable + " = " + table.path,
                                                            "unset " + table.variable)});
  }
}

void require_harmless_tables() {
  require_readable_tables();
  if (private_tables().empty()) return;
  survive(
      [](int fd) {
        initialise_unguarded();
        read_tables(fd);
      },
      "reading its tables");
}

void initialise() {
  // The program may have called PAPI_shutdown() since.
  const auto done = [] { return starts != 0 && PAPI_is_initialized() != PAPI_NOT_INITED; };
  if (done()) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (done()) return;
  require_harmless_tables();
  initialise_unguarded();
}

std::string version() {
  // PAPI_get_opt(PAPI_LIB_VERSION) works before PAPI_library_init, unlike everything else.
  const int v = PAPI_get_opt(PAPI_LIB_VERSION, nullptr);
  return fmt::format("{}.{}.{}.{}", PAPI_VERSION_MAJOR(v), PAPI_VERSION_MINOR(v), PAPI_VERSION_REVISION(v),
                     PAPI_VERSION_INCREMENT(v));
}

int max_mhz() {
  initialise();
  const PAPI_hw_info_t* const hardware = PAPI_get_hardware_info();
  return hardware != nullptr ? hardware->cpu_max_mhz : 0;
}

std::vector<std::string> warnings() {
  std::vector<std::string> out;
  if (const char* old = std::getenv("PAPI_PERFMON_EVENT_FILE"); old != nullptr)
    out.push_back(fmt::format(
        "PAPI_PERFMON_EVENT_FILE = {} is ignored: PAPI has read PAPI_CSV_EVENT_FILE since 4.2.1", old));
  for (const auto& table : private_tables()) {
    if (const auto problem = unreadable(table); !problem.empty())
      out.push_back(fmt::format("{} = {} {}", table.variable, table.path, problem));
  }
  return out;
}

namespace {

std::string table_read() {
  for (const auto& table : private_tables()) {
    if (table.variable == "PAPI_CSV_EVENT_FILE") return table.path;
  }
  return "built into PAPI " + version(); // or its data directory: PAPI does not report which
}

/// One child after the other, until each preset was tried: one that crashes, or that takes a whole child's
/// time, costs only its own trial.
void try_presets(std::vector<Preset>& presets) {
  auto left = base::mapped(presets, &Preset::name);
  while (!left.empty()) {
    const auto child = process::in_fork(
        [&](int fd) {
          initialise_unguarded();
          write_trials(fd, left);
          return 0;
        },
        std::chrono::seconds(30));
    const std::string last = parse_trials(child.out, presets);
    const auto it = std::find(left.begin(), left.end(), last);
    if (it == left.end()) return;
    const bool late = child.exit.how == process::Exit::How::timed_out && it != left.begin();
    if (!late)
      std::ranges::find(presets, last, &Preset::name)->reason = unanswered("counting it", child.exit);
    left.erase(left.begin(), late ? it : it + 1);
  }
}

std::vector<Reason> why_none(const Inventory& inventory) {
  std::vector<Reason> reasons;
  const bool core = std::ranges::any_of(host::pmus(), &host::Pmu::core);
  if (!core) reasons.emplace_back("Linux has no core PMU here: " + pmus_here(), ReasonCode::no_pmu);
  if (inventory.presets.empty()) {
    const auto cpu =
        inventory.core_pmu.empty() ? "this CPU, which libpfm4 does not know" : inventory.core_pmu;
    reasons.emplace_back(fmt::format("the preset table ({}) has no usable row for {}", inventory.table, cpu));
  } else if (core) {
    reasons.emplace_back(fmt::format("no preset of the table ({} in all) could be started: {}: {}",
                                     inventory.presets.size(), inventory.presets.front().name,
                                     inventory.presets.front().reason.cause));
  }
  return reasons;
}

} // namespace

int Inventory::presets_counting() const {
  return static_cast<int>(std::ranges::count(presets, true, &Preset::counts));
}

Inventory inventory() {
  require_readable_tables();
  const auto child = process::in_fork(
      [](int fd) {
        initialise_unguarded();
        write_claims(fd);
        return 0;
      },
      std::chrono::seconds(30));
  if (child.exit.how != process::Exit::How::exited) throw crashed("listing its presets", child.exit);
  if (!child.exit.ok()) throw unavailable("PAPI", "it cannot be initialised: " + child.err);
  Inventory out = parse_claims(child.out);
  out.table = table_read();
  out.warnings = warnings();
  try_presets(out.presets);
  if (out.presets_counting() == 0) out.reasons = why_none(out);
  return out;
}

namespace {

void put_line(int fd, const std::string& line) {
  static_cast<void>(process::write_all(fd, line + '\n')); // it fails only when the reader has gone
}

/// The core PMU whose rows PAPI looks for in its table, by PAPI's own rule; libpfm4's flag is_dfl means
/// something else. PAPI has initialised libpfm4 by now.
std::string core_pmu() {
  for (int i = 0; i < PFM_PMU_MAX; ++i) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(i), &info) != PFM_SUCCESS) continue;
    const bool generic =
        std::string_view(info.name) == "ix86arch" || std::strstr(info.desc, "E-Core") != nullptr;
    if (info.is_present && info.type == PFM_PMU_TYPE_CORE && !generic) return info.name;
  }
  return {};
}

Json components() {
  Json all = Json::array();
  for (int i = 0; i < PAPI_num_components(); ++i)
    if (const PAPI_component_info_t* info = PAPI_get_component_info(i); info != nullptr)
      all.push_back({info->name, info->disabled == 0, info->disabled_reason});
  return all;
}

Json presets() {
  Json all = Json::array();
  int code = PAPI_PRESET_MASK;
  PAPI_event_info_t info{};
  if (PAPI_enum_event(&code, PAPI_ENUM_FIRST) != PAPI_OK) return all;
  do {
    // The walk over available presets starts at the first of all, available or not.
    if (PAPI_query_event(code) != PAPI_OK || PAPI_get_event_info(code, &info) != PAPI_OK || info.count == 0)
      continue;
    Json terms = Json::array();
    for (unsigned i = 0; i < std::min(info.count, static_cast<unsigned>(PAPI_MAX_INFO_TERMS)); ++i)
      terms.push_back(info.name[i]);
    all.push_back({info.symbol, info.derived, info.postfix, terms});
  } while (PAPI_enum_event(&code, PAPI_PRESET_ENUM_AVAIL) == PAPI_OK);
  return all;
}

} // namespace

void write_claims(int fd) {
  const auto known = preset_names().size(); // initialises the components
  const bool software = try_once({"perf::PAGE-FAULTS"}, Domain::user).empty();
  put_line(fd, dumped({{"version", version()},
                       {"core_pmu", core_pmu()},
                       {"known", known},
                       {"software", software},
                       {"components", components()},
                       {"presets", presets()}}));
}

void write_trials(int fd, const std::vector<std::string>& presets) {
  for (const auto& name : presets) {
    put_line(fd, name);
    const Reason reason = try_once({name}, Domain::user);
    put_line(fd, dumped({reason.cause, reason.setting, reason.fix, name_of(reason.code)}));
  }
}

Inventory parse_claims(std::string_view text) {
  const auto json = Json::parse(text);
  Inventory out;
  out.version = json["version"];
  out.core_pmu = json["core_pmu"];
  out.presets_known = json["known"];
  out.software_events = json["software"];
  for (const auto& one : json["components"])
    out.components.push_back({one[0], one[1], one[2]});
  for (const auto& one : json["presets"])
    out.presets.push_back({one[0], one[1], one[2], one[3], false, "not tried"});
  return out;
}

std::string parse_trials(std::string_view text, std::vector<Preset>& presets) {
  auto trying = presets.end();
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!line.starts_with('[')) {
      trying = std::ranges::find(presets, line, &Preset::name);
    } else if (trying != presets.end()) {
      const auto reason = Json::parse(line);
      trying->reason = {reason[0], reason[1], reason[2], reason_code(reason[3].get<std::string>())};
      trying->counts = trying->reason.empty();
      trying = presets.end();
    }
  }
  return trying == presets.end() ? "" : trying->name;
}

} // namespace recount::papi
