// The C interface: no exception leaves it.
#include <recount/recount.h>

#include <recount/error.hpp>
#include <recount/group.hpp>

#include "process/signals.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Events, and where the counts of each name are.
struct recount_counters {
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> at; ///< of each name: several on a hybrid CPU
  std::optional<recount::Counters> counters;
  std::vector<recount::Count> counts; ///< of each name, as last read
};

namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// 0; -1 with the message of what it throws.
template <class Body>
int guarded(const Body& body) noexcept {
  const recount::process::CancelBlocked uncancelled;
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    try {
      last_error() = error.what();
    } catch (...) { // no memory for the message
      last_error().clear();
    }
    return -1;
  }
}

/// What an argument points to.
template <class T>
T& require(T* argument, const char* name) {
  if (argument == nullptr) throw recount::bad_input(name, "NULL", "pass a pointer to an object");
  return *argument;
}

recount::Counters& require_counters(recount_counters* counters) {
  return *require(counters, "counters").counters;
}

std::unique_ptr<recount_counters> open_all(const char* const* names, std::size_t number, bool inherit) {
  auto opened = std::make_unique<recount_counters>();
  if (number > 0) require(names, "names");
  std::vector<recount::Event> events;
  recount::GroupOptions options;
  options.inherit = inherit;
  for (std::size_t i = 0; i < number; ++i) {
    const recount::Counters alone(std::vector<std::string>{&require(names[i], "name of an event")},
                                  recount::Domain::all, options);
    auto& indices = opened->at.emplace_back();
    for (const recount::Event& event : alone.events()) {
      indices.push_back(events.size());
      events.push_back(event);
    }
    opened->names.emplace_back(names[i]);
  }
  opened->counters.emplace(std::move(events), options);
  opened->counts.resize(number, {{}, 0, 0, "not read yet"});
  return opened;
}

recount_counters* open_or_null(const char* const* names, std::size_t number, bool inherit) {
  std::unique_ptr<recount_counters> opened;
  const int result = guarded([&] { opened = open_all(names, number, inherit); });
  return result == 0 ? opened.release() : nullptr;
}

const recount::Count& require_count(const recount_counters* counters, std::size_t event) {
  if (event >= require(counters, "counters").counts.size())
    throw recount::bad_input("event " + std::to_string(event), "there is no such event",
                             "use an index below recount_number()");
  return counters->counts[event];
}

} // namespace

extern "C" {

recount_counters* recount_open(const char* const* names, size_t number) {
  return open_or_null(names, number, false);
}
recount_counters* recount_open_inherited(const char* const* names, size_t number) {
  return open_or_null(names, number, true);
}
void recount_close(recount_counters* counters) {
  delete counters;
}

int recount_start(recount_counters* counters) {
  return guarded([&] { require_counters(counters).start(); });
}
int recount_stop(recount_counters* counters) {
  return guarded([&] { require_counters(counters).stop(); });
}
int recount_reset(recount_counters* counters) {
  return guarded([&] { require_counters(counters).reset(); });
}
int recount_read(recount_counters* counters) {
  return guarded([&] {
    const auto& all = require_counters(counters).read();
    for (std::size_t i = 0; i < counters->at.size(); ++i) {
      std::vector<recount::Count> parts;
      for (const std::size_t k : counters->at[i])
        parts.push_back(all[k]);
      counters->counts[i] = recount::sum_of_core_types(parts);
    }
  });
}

size_t recount_number(const recount_counters* counters) {
  return counters == nullptr ? 0 : counters->names.size();
}
const char* recount_name(const recount_counters* counters, size_t event) {
  return event < recount_number(counters) ? counters->names[event].c_str() : nullptr;
}
int recount_value(const recount_counters* counters, size_t event, double* value) {
  return guarded([&] {
    const recount::Count& count = require_count(counters, event);
    const auto scaled = recount::scale(count);
    if (!scaled)
      throw recount::Error(recount::ErrorKind::unavailable, {counters->names[event], count.reason});
    require(value, "value") = *scaled;
  });
}
int recount_count(const recount_counters* counters, size_t event, uint64_t* value) {
  return guarded([&] {
    const recount::Count& count = require_count(counters, event);
    if (!count.value)
      throw recount::Error(recount::ErrorKind::unavailable, {counters->names[event], count.reason});
    require(value, "value") = *count.value;
  });
}
double recount_share(const recount_counters* counters, size_t event) {
  const bool known = event < recount_number(counters) && counters->counts[event].value;
  return known ? recount::share(counters->counts[event]) : 0;
}

const char* recount_error(void) {
  return last_error().c_str();
}

} // extern "C"
