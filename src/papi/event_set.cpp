#include "papi/event_set.hpp"

#include "papi/error.hpp"
#include "papi/library.hpp"
#include "papi/resolve.hpp"

#include <fmt/format.h>
#include <papi.h>

#include <algorithm>
#include <exception>
#include <mutex>
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

EventSet::EventSet(const std::vector<std::string>& names, Domain domain)
    : id_(PAPI_NULL), subject_(fmt::format("{}", fmt::join(names, ", "))) {
  if (names.empty()) throw bad_input("PAPI set", "no events given", "add at least one event");
  papi::check(PAPI_create_eventset(&id_), subject_, "PAPI_create_eventset");
  try {
    add(names, domain);
  } catch (...) {
    PAPI_cleanup_eventset(id_);
    PAPI_destroy_eventset(&id_);
    throw;
  }
}

EventSet::~EventSet() {
  if (running_) PAPI_stop(id_, nullptr);
  PAPI_cleanup_eventset(id_);
  PAPI_destroy_eventset(&id_);
}

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

void EventSet::start() {
  check(PAPI_start(id_), "PAPI_start");
  running_ = counted_ = true;
}

void EventSet::stop(long long* values) {
  check(PAPI_stop(id_, values), "PAPI_stop");
  running_ = false;
}

void EventSet::read(long long* values) {
  // PAPI gives zeroes for a set that never ran; those would be no counts.
  check(counted_ ? PAPI_read(id_, values) : PAPI_ENOTRUN, "PAPI_read");
}

void EventSet::accumulate(long long* values) {
  check(running_ ? PAPI_accum(id_, values) : PAPI_ENOTRUN, "PAPI_accum");
}

void EventSet::reset() {
  check(running_ ? PAPI_reset(id_) : PAPI_ENOTRUN, "PAPI_reset");
}

std::string try_once(const std::vector<std::string>& names, Domain domain) noexcept try {
  register_thread();
  std::vector<long long> values(names.size());
  EventSet set(names, domain);
  set.start();
  set.read(values.data());
  set.stop(values.data());
  return {};
} catch (const Error& e) {
  return e.problem().cause;
} catch (const std::exception& e) {
  return e.what();
}

} // namespace recount::papi
