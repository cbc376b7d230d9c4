#include "event/encode.hpp"

#include "base/nearest.hpp"
#include "event/breakpoint.hpp"
#include "event/domain.hpp"
#include "event/hybrid.hpp"
#include "event/pfm.hpp"
#include "event/sysfs.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <regex>
#include <unistd.h>

namespace recount {

Event encode(const std::string& name, Domain fallback) {
  return event::encode_over(name, fallback, event::pmus());
}

std::vector<Event> encode_each(const std::string& name, Domain fallback) {
  return event::encode_each_over(name, fallback, event::pmus());
}

} // namespace recount

namespace recount::event {
namespace {

/// Whether it has the form of a tracepoint, "sched:sched_switch", and debugfs, where libpfm4 looks for these
/// (lib/pfmlib_perf_event_pmu.c), cannot be read.
bool is_hidden_tracepoint(const std::string& name) {
  static const std::regex tracepoint("(perf::)?[a-z][a-z0-9_]*:[a-z][a-z0-9_]*(:.*)?");
  return std::regex_match(name, tracepoint) && ::access("/sys/kernel/debug/tracing/events", R_OK) != 0;
}

[[noreturn]] void unknown(const std::string& name, const std::string& cause,
                          const std::vector<host::Pmu>& pmus) {
  std::string remedy = base::did_you_mean(suggestions(name, pmus));
  if (remedy.empty() && is_hidden_tracepoint(name))
    throw bad_input(name, "no such event; tracepoints need a mounted and readable debugfs",
                    "as root: mount -t debugfs nodev /sys/kernel/debug");
  if (remedy.empty()) remedy = "recount events PATTERN searches the known events";
  throw bad_input(name, cause, remedy);
}

Event encode_pfm(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  const Modified modified = for_libpfm(name);
  const pfm::Encoded encoded = pfm::encode(modified.name, fallback);
  if (!encoded.ok) unknown(name, encoded.known ? encoded.failure : "no such event", pmus);
  Event event;
  event.name = name;
  event.pmu = encoded.pmu;
  event.attr = encoded.attr;
  event.domain_given = modified.domain_given;
  event.present = encoded.present;
  return event;
}

/// Before it is known whether a generic event has to be split by core types.
Event encode_one(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  if (name.empty()) throw bad_input("\"\"", "the event name is empty", "recount events lists events");
  if (name.starts_with("mem:")) return encode_breakpoint(name, fallback);
  if (in_sysfs_notation(name)) return encode_sysfs(name, fallback, pmus);
  return encode_pfm(name, fallback, pmus);
}

bool ambiguous(const Event& event) {
  return generic(event.attr) && event.attr.config >> 32 == 0;
}

} // namespace

Event encode_over(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  Event event = encode_one(name, fallback, pmus);
  const auto cores = hybrid_cores(pmus);
  if (cores.empty() || !ambiguous(event)) return event;
  std::vector<std::string> names;
  for (const Event& one : spread(event, cores))
    names.push_back(one.name);
  throw bad_input(name, "this CPU has several core types with separate PMUs",
                  fmt::format("name one of them: {}", fmt::join(names, " or ")));
}

std::vector<Event> encode_each_over(const std::string& name, Domain fallback,
                                    const std::vector<host::Pmu>& pmus) {
  const Event event = encode_one(name, fallback, pmus);
  const auto cores = hybrid_cores(pmus);
  if (cores.empty() || !ambiguous(event)) return {event};
  return spread(event, cores);
}

} // namespace recount::event
