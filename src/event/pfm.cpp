#include "event/pfm.hpp"

#include <recount/error.hpp>

#include <linux/perf_event.h>
// libpfm4 brings its own copy of the kernel's header, which must not be read beside the real one.
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib_perf_event.h>

#include <cstdlib>
#include <mutex>

namespace recount::event::pfm {
namespace {

std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

template <class Info>
Info sized() {
  Info info{};
  info.size = sizeof info;
  return info;
}

/// Makes libpfm4 ready, with tables of absent PMUs encoding too. PAPI shares the library and may have
/// initialised it without them, or ended it since: so this is called before every use.
void ready() {
  static bool ours = false;
  pfm_pmu_info_t probe = sized<pfm_pmu_info_t>();
  const bool running = pfm_get_pmu_info(PFM_PMU_PERF_EVENT, &probe) != PFM_ERR_NOINIT;
  if (running && ours) return;
  if (running) pfm_terminate();
  constexpr auto variable = "LIBPFM_ENCODE_INACTIVE";
  const bool given = std::getenv(variable) != nullptr;
  setenv(variable, "1", 1);
  const int result = pfm_initialize();
  if (!given) unsetenv(variable); // do not affect the environment of child processes
  if (result != PFM_SUCCESS)
    throw unavailable("libpfm4", std::string("cannot be initialised: ") + pfm_strerror(result));
  ours = true;
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

/// Adds the source of an encoding.
void locate(int index, Encoded& out) {
  pfm_event_info_t event = sized<pfm_event_info_t>();
  pfm_pmu_info_t pmu = sized<pfm_pmu_info_t>();
  if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &event) != PFM_SUCCESS ||
      pfm_get_pmu_info(event.pmu, &pmu) != PFM_SUCCESS)
    return;
  out.pmu = text(pmu.name);
  out.kind = kind(pmu);
  // An uncore PMU has a type of its own, from sysfs. Where the kernel lacks it, libpfm4 leaves the type of
  // raw core events, whose code would count another event.
  const bool misplaced = out.kind == Table::Kind::uncore && out.attr.type == PERF_TYPE_RAW;
  out.present = pmu.is_present && !misplaced;
}

} // namespace

std::vector<Table> tables() {
  const std::lock_guard lock(library());
  ready();
  std::vector<Table> found;
  for (int id = PFM_PMU_NONE; id < PFM_PMU_MAX; ++id) {
    pfm_pmu_info_t info = sized<pfm_pmu_info_t>();
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &info) != PFM_SUCCESS) continue;
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
  if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(table.id), &info) != PFM_SUCCESS) return found;
  for (int index = info.first_event; index != -1; index = pfm_get_event_next(index)) {
    pfm_event_info_t event = sized<pfm_event_info_t>();
    if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &event) != PFM_SUCCESS) continue;
    found.push_back({text(event.name), text(event.desc), text(event.equiv), index});
  }
  return found;
}

std::vector<Attribute> attributes(const Entry& entry) {
  const std::lock_guard lock(library());
  ready();
  std::vector<Attribute> found;
  pfm_event_info_t event = sized<pfm_event_info_t>();
  if (pfm_get_event_info(entry.index, PFM_OS_PERF_EVENT_EXT, &event) != PFM_SUCCESS) return found;
  for (int i = 0; i < event.nattrs; ++i) {
    pfm_event_attr_info_t info = sized<pfm_event_attr_info_t>();
    if (pfm_get_event_attr_info(entry.index, i, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS) continue;
    found.push_back({text(info.name), text(info.desc), info.type != PFM_ATTR_UMASK, info.is_dfl != 0});
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
  const int result =
      pfm_get_os_event_encoding(name.c_str(), privilege(domain), PFM_OS_PERF_EVENT_EXT, &argument);
  out.ok = result == PFM_SUCCESS;
  if (out.ok) {
    out.attr.size = sizeof out.attr;
    locate(argument.idx, out);
    return out;
  }
  out.failure = pfm_strerror(result);
  out.known = result != PFM_ERR_NOTFOUND;
  return out;
}

} // namespace recount::event::pfm
