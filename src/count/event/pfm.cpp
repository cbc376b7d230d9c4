#include "count/event/pfm.hpp"

#include <recount/error.hpp>

#include <linux/perf_event.h>
// libpfm4 brings its own copy of the kernel's header, which must not be read beside the real one.
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib_perf_event.h>

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <list>
#include <mutex>
#include <unistd.h>

namespace recount::event::pfm {
namespace {

std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

struct Calls {
  decltype(&pfm_get_pmu_info) get_pmu_info = &pfm_get_pmu_info;
  decltype(&pfm_terminate) terminate = &pfm_terminate;
  decltype(&pfm_initialize) initialize = &pfm_initialize;
  decltype(&pfm_strerror) strerror = &pfm_strerror;
  decltype(&pfm_get_event_info) get_event_info = &pfm_get_event_info;
  decltype(&pfm_get_event_next) get_event_next = &pfm_get_event_next;
  decltype(&pfm_get_event_attr_info) get_event_attr_info = &pfm_get_event_attr_info;
  decltype(&pfm_get_os_event_encoding) get_os_event_encoding = &pfm_get_os_event_encoding;
  decltype(&pfm_get_version) get_version = &pfm_get_version;
};

/// What messages say of a library that was chosen.
struct Chosen {
  bool is = false;
  std::string version, source; ///< of one that was built; else empty
};

Chosen& chosen() {
  static Chosen library;
  return library;
}

Calls& calls() {
  static Calls linked;
  return linked;
}

template <class Function>
bool resolve(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name)); // POSIX: an object pointer can hold a function's
  return into != nullptr;
}

template <class Info>
Info sized() {
  Info info{};
  info.size = sizeof info;
  return info;
}

std::atomic<bool> may_restart = false;

/// Initialises libpfm4 with the tables of absent PMUs, which it does if a variable of the environment is set.
/// setenv(3) and unsetenv(3) would change the environment under other threads that read it: they see either
/// the old array or this one, of which nothing is ever changed.
int initialise_with_absent_tables() {
  static std::string variable = "LIBPFM_ENCODE_INACTIVE=1";
  static std::list<std::vector<char*>> kept; // a reader may still be at it
  auto& with = kept.emplace_back(1, variable.data());
  char** const before = environ;
  for (char** one = before; one != nullptr && *one != nullptr; ++one)
    with.push_back(*one);
  with.push_back(nullptr);
  environ = with.data();
  const int result = calls().initialize();
  environ = before;
  return result;
}

/// Makes libpfm4 ready. PAPI shares the library and may have initialised it, without tables of absent PMUs,
/// or ended it since: so this is called before every use.
void ready() {
  static bool initialised_here = false;
  pfm_pmu_info_t probe = sized<pfm_pmu_info_t>();
  const bool running = calls().get_pmu_info(PFM_PMU_PERF_EVENT, &probe) != PFM_ERR_NOINIT;
  if (running && (initialised_here || !may_restart)) return;
  if (running) calls().terminate();
  if (const int result = initialise_with_absent_tables(); result != PFM_SUCCESS)
    throw unavailable("libpfm4", std::string("cannot be initialised: ") + calls().strerror(result));
  initialised_here = true;
}

Table::Kind kind(const pfm_pmu_info_t& info) {
  if (info.type == PFM_PMU_TYPE_CORE) return Table::Kind::core;
  return info.type == PFM_PMU_TYPE_UNCORE ? Table::Kind::uncore : Table::Kind::system;
}

std::string text(const char* words) {
  return words == nullptr ? std::string() : std::string(words);
}

int privilege(Domain domain) {
  if (domain == Domain::user) return PFM_PLM3;
  if (domain == Domain::kernel) return PFM_PLM0;
  return PFM_PLM0 | PFM_PLM3 | PFM_PLMH;
}

/// An event of an Intel core that libpfm4 encodes by a code that no counter has, or of another event. Fixed
/// counters have no codes of their own: Linux puts an event on one if it has the architectural code (fixed
/// event constraints of arch/x86/events/intel/core.c), and any other code on a general counter, where these
/// count 0.
struct Correction {
  std::string_view pmu; ///< empty: every Intel PMU
  std::string_view event, mask;
  std::uint64_t given, counted;
};
// Counted codes: SDM volume 3B, "Pre-defined Architectural Performance Events", and Intel's event lists
// (perfmon).
constexpr Correction corrections[] = {
    {{}, "CPU_CLK_UNHALTED", "THREAD", 0x0200, 0x003c},
    {{}, "CPU_CLK_UNHALTED", "CORE", 0x0200, 0x003c},
    {"glm", "CPU_CLK_UNHALTED", "CORE_P", 0x0000, 0x003c},
    {"glm", "CPU_CLK_UNHALTED", "REF", 0x0100, 0x013c},
    {{}, "INST_RETIRED", "ANY", 0x0100, 0x00c0}, // adl_grt: no counter; others: fixed counter 0 alone
    {"spr", "INST_RETIRED", "ANY", 0x01c0, 0x00c0},
    {"emr", "INST_RETIRED", "ANY", 0x01c0, 0x00c0},
    {{}, "TOPDOWN", "BACKEND_BOUND_SLOTS", 0x0200, 0x02a4},
    {{}, "TOPDOWN", "BR_MISPREDICT_SLOTS", 0x0800, 0x08a4},
    {{}, "TOPDOWN", "MEMORY_BOUND_SLOTS", 0x1000, 0x10a4},
    {"gnr", "TOPDOWN", "BAD_SPEC_SLOTS", 0x0400, 0x04a4},
    // Of the codes of an event, libpfm4 has the first one for all its masks.
    {"adl_glc", "INST_RETIRED", "ANY", 0x01c0, 0x00c0},
    {"adl_glc", "INST_RETIRED", "PREC_DIST", 0x01c0, 0x0100},
    {"adl_glc", "CPU_CLK_UNHALTED", "THREAD", 0x023c, 0x003c},
    {"adl_glc", "CPU_CLK_UNHALTED", "REF_TSC", 0x033c, 0x0300},
    {"adl_glc", "CPU_CLK_UNHALTED", "DISTRIBUTED", 0x023c, 0x02ec},
    {"adl_glc", "CPU_CLK_UNHALTED", "C01", 0x103c, 0x10ec},
    {"adl_glc", "CPU_CLK_UNHALTED", "C02", 0x203c, 0x20ec},
    {"adl_glc", "CPU_CLK_UNHALTED", "C0_WAIT", 0x703c, 0x70ec},
    {"adl_glc", "CPU_CLK_UNHALTED", "PAUSE", 0x403c, 0x40ec},
    {"adl_glc", "CPU_CLK_UNHALTED", "PAUSE_INST", 0x104403c, 0x10440ec},
};

/// `full`: "spr::INST_RETIRED:ANY:e=0:i=0", the name with all its modifiers.
void correct(const std::string& full, const std::string& event, Encoded& out) {
  if (out.kind != Table::Kind::core) return;
  for (const Correction& row : corrections)
    if (out.attr.config == row.given && event == row.event && (row.pmu.empty() || out.pmu == row.pmu) &&
        (full + ":").find(fmt::format(":{}:", row.mask)) != full.npos) {
      out.attr.config = row.counted;
      return;
    }
}

/// Adds the source of an encoding.
void locate(int index, const std::string& full, Encoded& out) {
  pfm_event_info_t event = sized<pfm_event_info_t>();
  pfm_pmu_info_t pmu = sized<pfm_pmu_info_t>();
  if (calls().get_event_info(index, PFM_OS_PERF_EVENT_EXT, &event) != PFM_SUCCESS ||
      calls().get_pmu_info(event.pmu, &pmu) != PFM_SUCCESS)
    return;
  out.pmu = text(pmu.name);
  out.kind = kind(pmu);
  // An uncore PMU has a type of its own, from sysfs. Where the kernel lacks it, libpfm4 leaves the type of
  // raw core events, whose code would count another event.
  const bool misplaced = out.kind == Table::Kind::uncore && out.attr.type == PERF_TYPE_RAW;
  out.present = pmu.is_present && !misplaced;
  correct(full, text(event.name), out);
}

} // namespace

void use_library(const std::string& path) {
  const std::lock_guard lock(library());
  const std::string fix =
      "name a shared libpfm4, such as src/libpfm4/lib/libpfm.so.4.14.0 of PAPI after make";
  // Its calls of its own exported functions may reach the linked library: these are pfm_strerror() and two
  // that are not used here. RTLD_DEEPBIND would prevent that, but address sanitizers refuse it.
  void* const opened =
      dlopen((path.find('/') == path.npos ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) throw bad_input("--libpfm " + path, std::string("cannot be loaded: ") + dlerror(), fix);
  Calls other;
  if (!(resolve(opened, "pfm_get_pmu_info", other.get_pmu_info) &&
        resolve(opened, "pfm_terminate", other.terminate) &&
        resolve(opened, "pfm_initialize", other.initialize) &&
        resolve(opened, "pfm_strerror", other.strerror) &&
        resolve(opened, "pfm_get_event_info", other.get_event_info) &&
        resolve(opened, "pfm_get_event_next", other.get_event_next) &&
        resolve(opened, "pfm_get_event_attr_info", other.get_event_attr_info) &&
        resolve(opened, "pfm_get_os_event_encoding", other.get_os_event_encoding) &&
        resolve(opened, "pfm_get_version", other.get_version)))
    throw bad_input("--libpfm " + path, "not a libpfm4: it lacks functions of version 4", fix);
  calls() = other;
  chosen() = {true, {}, {}};
}

void use_built_library(const std::string& path, const std::string& version, const std::string& source) {
  use_library(path);
  chosen() = {true, version, source};
}

bool library_chosen() {
  return chosen().is;
}

std::string library_path() {
  if (!chosen().source.empty()) return chosen().source;
  Dl_info where{};
  std::error_code failed;
  if (dladdr(reinterpret_cast<void*>(calls().get_version), &where) == 0 || !where.dli_fname) return {};
  const auto path = std::filesystem::canonical(where.dli_fname, failed);
  return failed ? std::string() : path.string();
}

std::string library_version() {
  if (!chosen().version.empty()) return chosen().version;
  // pfm_get_version() is 4.0 in every release; the name of the file has the rest.
  const std::string file = std::filesystem::path(library_path()).filename().string();
  constexpr std::string_view prefix = "libpfm.so.";
  if (file.starts_with(prefix)) return file.substr(prefix.size());
  const int version = calls().get_version();
  return fmt::format("{}.{}", PFM_MAJ_VERSION(version), PFM_MIN_VERSION(version));
}

void allow_restart() noexcept {
  may_restart = true;
}

std::vector<Table> tables() {
  const std::lock_guard lock(library());
  ready();
  std::vector<Table> found;
  for (int id = PFM_PMU_NONE;;
       ++id) { // a library that is newer than its header here has PMUs beyond PFM_PMU_MAX
    pfm_pmu_info_t info = sized<pfm_pmu_info_t>();
    const int result = calls().get_pmu_info(static_cast<pfm_pmu_t>(id), &info);
    if (result == PFM_ERR_INVAL) break;
    if (result != PFM_SUCCESS) continue;
    found.push_back({id, text(info.name), text(info.desc), info.is_present != 0, kind(info),
                     static_cast<std::size_t>(info.nevents), info.num_cntrs, info.num_fixed_cntrs});
  }
  return found;
}

std::vector<Entry> entries(const Table& table) {
  const std::lock_guard lock(library());
  ready();
  std::vector<Entry> found;
  pfm_pmu_info_t info = sized<pfm_pmu_info_t>();
  if (calls().get_pmu_info(static_cast<pfm_pmu_t>(table.id), &info) != PFM_SUCCESS) return found;
  for (int index = info.first_event; index != -1; index = calls().get_event_next(index)) {
    pfm_event_info_t event = sized<pfm_event_info_t>();
    if (calls().get_event_info(index, PFM_OS_PERF_EVENT_EXT, &event) != PFM_SUCCESS) continue;
    found.push_back({text(event.name), text(event.desc), text(event.equiv), index, event.code});
  }
  return found;
}

std::vector<Attribute> attributes(const Entry& entry) {
  const std::lock_guard lock(library());
  ready();
  std::vector<Attribute> found;
  pfm_event_info_t event = sized<pfm_event_info_t>();
  if (calls().get_event_info(entry.index, PFM_OS_PERF_EVENT_EXT, &event) != PFM_SUCCESS) return found;
  for (int i = 0; i < event.nattrs; ++i) {
    pfm_event_attr_info_t info = sized<pfm_event_attr_info_t>();
    if (calls().get_event_attr_info(entry.index, i, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS) continue;
    found.push_back(
        {text(info.name), text(info.desc), info.type != PFM_ATTR_UMASK, info.is_dfl != 0, info.code});
  }
  return found;
}

Encoded encode(const std::string& name, Domain domain) {
  const std::lock_guard lock(library());
  ready();
  Encoded out;
  out.attr.size = sizeof out.attr;
  pfm_perf_encode_arg_t argument = sized<pfm_perf_encode_arg_t>();
  argument.attr = &out.attr;
  char* full = nullptr;
  argument.fstr = &full;
  const int result =
      calls().get_os_event_encoding(name.c_str(), privilege(domain), PFM_OS_PERF_EVENT_EXT, &argument);
  out.ok = result == PFM_SUCCESS;
  if (out.ok) {
    out.attr.size = sizeof out.attr;
    locate(argument.idx, text(full), out);
    std::free(full);
    return out;
  }
  out.failure = calls().strerror(result);
  out.known = result != PFM_ERR_NOTFOUND;
  out.unsupported = result == PFM_ERR_NOTSUPP;
  return out;
}

} // namespace recount::event::pfm
