// The C interface: counting.
#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "perf/c_guard.hpp"

#include <recount/derived.hpp>
#include <recount/user_read.hpp>

#include <algorithm>
#include <span>
#include <type_traits>
#include <variant>

/// Events, and where the counts of each name are.
struct recount_counters {
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> at; ///< of each name: several on a hybrid CPU
  std::vector<recount::Event> events;
  std::variant<std::monostate, recount::Counters, recount::Group, recount::UserRead> counters;
  std::vector<recount::Count> counts; ///< of each name, as last read
  std::vector<recount::Count> parts;  ///< of one name, while it is added up
  std::vector<recount::Count> all;    ///< of UserRead
};

namespace recount::perf {

std::string& c_error() noexcept {
  thread_local std::string text;
  return text;
}

namespace {

GroupOptions group_options(const recount_options& requested) {
  const auto set = [&](unsigned flag) { return (requested.flags & flag) != 0; };
  GroupOptions options;
  options.pid = requested.pid;
  options.cpu = requested.cpu;
  options.inherit = set(RECOUNT_INHERIT);
  options.pinned = set(RECOUNT_PINNED);
  options.exclusive = set(RECOUNT_EXCLUSIVE);
  options.enable_on_exec = set(RECOUNT_ENABLE_ON_EXEC);
  options.process = set(RECOUNT_PROCESS);
  options.all_cpus = set(RECOUNT_ALL_CPUS);
  return options;
}

void require_counting(const recount_options& requested) {
  if ((requested.flags & (RECOUNT_CHAINS | RECOUNT_FREQUENCY)) != 0)
    throw bad_input("recount_open_with", "RECOUNT_CHAINS and RECOUNT_FREQUENCY are for sampling",
                    "use recount_sampling_open()");
  constexpr unsigned others = ~static_cast<unsigned>(RECOUNT_USER_READ | RECOUNT_GROUP);
  if ((requested.flags & RECOUNT_USER_READ) != 0 &&
      ((requested.flags & others) != 0 || requested.pid != 0 || requested.cpu != -1))
    throw bad_input("recount_open_with", "RECOUNT_USER_READ is for the calling thread alone",
                    "leave out the other flags, pid and cpu");
}

/// Opens each event once: those of one name that cannot be counted are left out only where a name has
/// several.
std::unique_ptr<recount_counters> open_all(const char* const* names, std::size_t number,
                                           const recount_options& requested) {
  require_counting(requested);
  auto opened = std::make_unique<recount_counters>();
  if (number > 0) require(names, "names");
  const GroupOptions options = group_options(requested);
  for (std::size_t i = 0; i < number; ++i) {
    auto& indices = opened->at.emplace_back();
    const std::string name = &require(names[i], "name of an event");
    for (Event& event : countable(encode_each(name, domain_of(requested)), options).events) {
      indices.push_back(opened->events.size());
      opened->events.push_back(std::move(event));
    }
    opened->names.push_back(name);
  }
  if ((requested.flags & RECOUNT_USER_READ) != 0)
    opened->counters.emplace<UserRead>(opened->events);
  else if ((requested.flags & RECOUNT_GROUP) != 0)
    opened->counters.emplace<Group>(opened->events, options);
  else
    opened->counters.emplace<Counters>(opened->events, options);
  opened->counts.resize(number, {{}, 0, 0, "not read yet"});
  opened->parts.reserve(opened->events.size());
  opened->all.resize(opened->events.size());
  return opened;
}

/// Calls `body` with what counts: Counters, Group or UserRead.
template <class Body>
void with(recount_counters* counters, const Body& body) {
  std::visit(
      [&]<class Kind>(Kind& kind) {
        if constexpr (!std::is_same_v<Kind, std::monostate>) body(kind);
      },
      require(counters, "counters").counters);
}

void take(recount_counters& into, const std::vector<Count>& all) {
  for (std::size_t i = 0; i < into.at.size(); ++i) {
    if (into.at[i].size() == 1) {
      into.counts[i] = all[into.at[i].front()];
      continue;
    }
    into.parts.clear();
    for (const std::size_t k : into.at[i])
      into.parts.push_back(all[k]);
    into.counts[i] = sum_of_core_types(into.parts);
  }
}

void read_all(recount_counters* counters) {
  with(counters, [&]<class Kind>(Kind& kind) {
    if constexpr (std::is_same_v<Kind, UserRead>) {
      for (std::size_t i = 0; i < counters->all.size(); ++i)
        counters->all[i] = kind.read(i);
      take(*counters, counters->all);
    } else {
      take(*counters, kind.read());
    }
  });
}

[[noreturn]] void throw_uncounted(const recount_counters& counters, std::size_t event) {
  throw Error(ErrorKind::unavailable, {counters.names[event], counters.counts[event].reason});
}

const Count& require_count(const recount_counters* counters, std::size_t event) {
  if (event >= require(counters, "counters").counts.size())
    throw bad_input("event " + std::to_string(event), "there is no such event",
                    "use an index below recount_number()");
  return counters->counts[event];
}

void read_values(recount_counters* counters, std::uint64_t* values, std::size_t number) {
  if (number > require(counters, "counters").names.size())
    throw bad_input("recount_read_values", "asks for more values than there are events",
                    "use at most recount_number()");
  if (number > 0) require(values, "values");
  auto* const direct = std::get_if<UserRead>(&counters->counters);
  if (direct != nullptr && counters->events.size() == counters->names.size() &&
      direct->values(std::span(values, number)))
    return;
  read_all(counters);
  for (std::size_t i = 0; i < number; ++i) {
    const Count& count = counters->counts[i];
    if (!count.value) throw_uncounted(*counters, i);
    if (multiplexed(count))
      throw unavailable(counters->names[i], "multiplexed: its count covers a part of the time", {},
                        "recount_read() and recount_value() estimate the whole");
    values[i] = *count.value;
  }
}

/// As snprintf(3).
template <class Write>
std::size_t write_text(const recount_counters* counters, char* text, std::size_t size, const Write& write) {
  std::string all;
  if (guarded([&] {
        require(counters, "counters");
        if (size > 0) require(text, "text");
        all = write(counters->names, counters->counts);
      }) != 0)
    return 0;
  if (size > 0) {
    const std::size_t written = std::min(all.size(), size - 1);
    all.copy(text, written);
    text[written] = '\0';
  }
  return all.size();
}

} // namespace
} // namespace recount::perf

using recount::perf::guarded;
using recount::perf::require;

extern "C" {

recount_counters* recount_open_with(const char* const* names, size_t number, const recount_options* options) {
  return recount::perf::made_or_null(
      [&] { return recount::perf::open_all(names, number, recount::perf::known_options(options)); });
}
recount_counters* recount_open(const char* const* names, size_t number) {
  return recount_open_with(names, number, nullptr);
}
recount_counters* recount_open_inherited(const char* const* names, size_t number) {
  recount_options options = RECOUNT_OPTIONS;
  options.flags = RECOUNT_INHERIT;
  return recount_open_with(names, number, &options);
}
void recount_close(recount_counters* counters) {
  delete counters;
}

int recount_start(recount_counters* counters) {
  return guarded([&] { recount::perf::with(counters, [](auto& kind) { kind.start(); }); });
}
int recount_stop(recount_counters* counters) {
  return guarded([&] { recount::perf::with(counters, [](auto& kind) { kind.stop(); }); });
}
int recount_reset(recount_counters* counters) {
  return guarded([&] { recount::perf::with(counters, [](auto& kind) { kind.reset(); }); });
}
int recount_read(recount_counters* counters) {
  return guarded([&] { recount::perf::read_all(counters); });
}
int recount_read_and_reset(recount_counters* counters) {
  return guarded([&] {
    recount::perf::with(counters, [&]<class Kind>(Kind& kind) {
      if constexpr (std::is_same_v<Kind, recount::UserRead>)
        throw recount::bad_input("recount_read_and_reset", "not with RECOUNT_USER_READ",
                                 "use recount_read_values()");
      else
        recount::perf::take(*counters, kind.read_and_reset());
    });
  });
}
int recount_read_values(recount_counters* counters, uint64_t* values, size_t number) {
  return guarded([&] { recount::perf::read_values(counters, values, number); });
}

size_t recount_number(const recount_counters* counters) {
  return counters == nullptr ? 0 : counters->names.size();
}
const char* recount_name(const recount_counters* counters, size_t event) {
  return event < recount_number(counters) ? counters->names[event].c_str() : nullptr;
}
int recount_value(const recount_counters* counters, size_t event, double* value) {
  return guarded([&] {
    const auto scaled = recount::scale(recount::perf::require_count(counters, event));
    if (!scaled) recount::perf::throw_uncounted(*counters, event);
    require(value, "value") = *scaled;
  });
}
int recount_count(const recount_counters* counters, size_t event, uint64_t* value) {
  return guarded([&] {
    const recount::Count& count = recount::perf::require_count(counters, event);
    if (!count.value) recount::perf::throw_uncounted(*counters, event);
    require(value, "value") = *count.value;
  });
}
double recount_share(const recount_counters* counters, size_t event) {
  const bool known = event < recount_number(counters) && counters->counts[event].value;
  return known ? recount::share(counters->counts[event]) : 0;
}
int recount_metric(const recount_counters* counters, const char* formula, double* value) {
  return guarded([&] {
    require(counters, "counters");
    const auto derived = recount::derive(&require(formula, "formula"), counters->names, counters->counts);
    if (!derived.value) throw recount::Error(recount::ErrorKind::unavailable, {formula, derived.reason});
    require(value, "value") = *derived.value;
  });
}
size_t recount_json(const recount_counters* counters, char* text, size_t size) {
  return recount::perf::write_text(counters, text, size, recount::to_json);
}
size_t recount_csv(const recount_counters* counters, char* text, size_t size) {
  return recount::perf::write_text(counters, text, size, recount::to_csv);
}

const char* recount_error(void) {
  return recount::perf::c_error().c_str();
}

} // extern "C"
