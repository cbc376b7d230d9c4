#include "event/encode.hpp"

#include "base/nearest.hpp"
#include "event/breakpoint.hpp"
#include "event/domain.hpp"
#include "event/hybrid.hpp"
#include "event/pfm.hpp"
#include "event/sysfs.hpp"
#include "event/uncore.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <optional>
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

/// Whether it has the form of a tracepoint, "sched:sched_switch", and tracefs cannot be read.
bool is_hidden_tracepoint(const std::string& name) {
  static const std::regex tracepoint("(perf::)?[a-z][a-z0-9_]*:[a-z][a-z0-9_]*(:.*)?");
  return std::regex_match(name, tracepoint) && ::access("/sys/kernel/debug/tracing/events", R_OK) != 0 &&
         ::access("/sys/kernel/tracing/events", R_OK) != 0;
}

[[noreturn]] void unknown(const std::string& name, const std::string& cause,
                          const std::vector<host::Pmu>& pmus) {
  std::string remedy = base::did_you_mean(suggestions(name, pmus));
  if (remedy.empty() && is_hidden_tracepoint(name))
    throw bad_input(name, "no such event; tracepoints need a mounted and readable tracefs",
                    "as root: mount -t tracefs nodev /sys/kernel/tracing");
  if (remedy.empty()) remedy = "recount events PATTERN searches the known events";
  throw bad_input(name, cause, remedy);
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
  event.present = encoded.present;
  return event;
}

/// The event of a name as libpfm4, tracefs or perf(1) have it.
std::vector<Event> encode_word(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  pfm::Encoded encoded;
  if (auto event = encode_pfm(name, fallback, encoded)) return {*event};
  if (auto event = software_event(name, fallback)) return {*event};
  if (auto event = tracepoint(name, fallback)) return {*event};
  std::vector<Event> each;
  for (const std::string& one : sysfs_names(name, pmus))
    each.push_back(encode_sysfs(one, fallback, pmus));
  if (each.size() == 1) each.front().name = name;
  if (!each.empty()) return each;
  unknown(name, encoded.known ? encoded.failure : "no such event", pmus);
}

/// Before it is known whether a generic event has to be split by core types; one event for each core type
/// where the name is one of sysfs that several have.
std::vector<Event> encode_plain(const std::string& name, Domain fallback,
                                const std::vector<host::Pmu>& pmus) {
  if (name.empty()) throw bad_input("\"\"", "the event name is empty", "recount events lists events");
  if (name.starts_with("mem:")) return {encode_breakpoint(name, fallback)};
  if (in_sysfs_notation(name)) {
    std::vector<Event> each;
    for (const std::string& one : instances(name, pmus))
      each.push_back(encode_sysfs(one, fallback, pmus));
    if (each.empty()) each.push_back(encode_sysfs(name, fallback, pmus));
    return each;
  }
  return encode_word(name, fallback, pmus);
}

/// With the modifiers of perf(1). libpfm4 reads H as its own h, so they come first, unless the rest is no
/// event: then the end of the name is something else.
std::vector<Event> encode_known(const std::string& name, Domain fallback,
                                const std::vector<host::Pmu>& pmus) {
  const Modifiers modifiers = split_modifiers(name);
  if (!modifiers.any()) return encode_plain(name, fallback, pmus);
  std::vector<Event> events;
  try {
    events = encode_plain(modifiers.name, fallback, pmus);
  } catch (const Error&) {
    return encode_plain(name, fallback, pmus);
  }
  for (Event& event : events) {
    apply(modifiers, event.attr);
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
  return spread(events.front(), cores);
}

Event encode_over(const std::string& name, Domain fallback, const std::vector<host::Pmu>& pmus) {
  auto events = encode_each_over(name, fallback, pmus);
  if (events.size() == 1) return std::move(events.front());
  std::vector<std::string> names;
  for (const Event& one : events)
    names.push_back(one.name);
  const bool cores = core_of(events.front().attr, pmus) != nullptr;
  throw bad_input(name,
                  cores ? "this CPU has several core types with separate PMUs"
                        : "there are several PMUs of this name",
                  fmt::format("name one of them: {}", fmt::join(names, " or ")));
}

} // namespace recount::event
