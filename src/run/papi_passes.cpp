#include "run/papi_passes.hpp"

#include "base/process/child.hpp"
#include "base/text.hpp"
#include "count/papi/event_set.hpp"
#include "count/papi/library.hpp"
#include "run/witness/both.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

namespace recount::stat {
namespace {

// What PAPI can count: tried in a forked child, as a preset table can crash PAPI.

bool has_papi_row(const PlanRow& row) {
  return row.kind != RowKind::usage && row.kind != RowKind::modelled && !row.part && !row.repeated;
}

/// The names that PAPI has to count for the rows.
std::vector<std::string> names_in(const std::vector<PlanRow>& rows) {
  std::vector<std::string> names;
  for (const PlanRow& row : rows)
    for (const Operand& operand : row.operands)
      if (has_papi_row(row) && std::ranges::count(names, operand.name) == 0) names.push_back(operand.name);
  return names;
}

struct PapiTrial {
  std::map<std::string, Reason> refused;
  std::vector<PapiNames> sets;
};

/// In the child: adds each name to the first set that PAPI counts it in; an observation per line, whose
/// repetition is the number of the set. The line before a trial names what is tried.
void try_names(int fd, const std::vector<std::string>& names, Domain domain) {
  papi::initialise_unguarded();
  std::vector<std::vector<std::string>> sets;
  const auto report = [&](const std::string& name, std::size_t set, const Reason& reason) {
    result::Observation o;
    o.metric = name;
    o.repetition = static_cast<int>(set);
    if (reason.empty())
      o.value = std::int64_t{1}; // counts
    else
      o.reason = reason;
    static_cast<void>(process::write_all(fd, result::to_line(o) + "\n"));
  };
  for (const std::string& name : names) {
    if (const Reason alone = papi::try_once({name}, domain); !alone.empty()) {
      report(name, 0, alone);
      continue;
    }
    std::size_t set = 0;
    for (; set < sets.size(); ++set) {
      auto longer = sets[set];
      longer.push_back(name);
      if (papi::try_once(longer, domain).empty()) break;
    }
    if (set == sets.size()) sets.emplace_back();
    sets[set].push_back(name);
    report(name, set, {});
  }
}

constexpr std::chrono::seconds trial_limit{30};

/// A name that crashes PAPI is refused, and the others are tried again.
PapiTrial try_papi(std::vector<std::string> names, Domain domain) {
  PapiTrial trial;
  while (!names.empty()) {
    const auto child = process::in_fork(
        [&](int fd) {
          try_names(fd, names, domain);
          return 0;
        },
        trial_limit);
    PapiTrial now;
    std::size_t answered = 0;
    for (const auto line : base::split(std::string_view(child.out), '\n')) {
      if (line.empty() || answered == names.size()) continue;
      const auto o = std::get<result::Observation>(result::parse_line(line, "trial of PAPI"));
      const std::string& name = names[answered++];
      if (!o.reason.empty()) {
        now.refused[name] = o.reason.get();
        continue;
      }
      now.sets.resize(std::max(now.sets.size(), static_cast<std::size_t>(o.repetition) + 1));
      now.sets[static_cast<std::size_t>(o.repetition)].names.push_back(name);
    }
    if (answered == names.size()) {
      trial.refused.merge(now.refused);
      trial.sets = std::move(now.sets);
      break;
    }
    const bool crashed = child.exit.how != process::Exit::How::exited;
    const Reason why = crashed ? Reason(papi::crashed("counting " + names[answered], child.exit).problem())
                               : Reason("PAPI cannot be initialised: " + std::string(base::trim(child.err)));
    for (std::size_t i = answered; i < (crashed ? answered + 1 : names.size()); ++i)
      trial.refused[names[i]] = why;
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(answered),
                crashed ? names.begin() + static_cast<std::ptrdiff_t>(answered) + 1 : names.end());
  }
  return trial;
}

/// Whether perf's groups all stay on the PMU while PAPI, whose groups are pinned, counts as well. In a child,
/// on this thread.
bool undisturbed(const Plan& plan, const std::vector<std::string>& names) {
  const auto child = process::in_fork(
      [&](int) {
        papi::initialise_unguarded();
        papi::register_thread();
        std::vector<Group> groups;
        for (const auto& members : plan.groups) {
          std::vector<Event> events;
          for (const std::size_t e : members)
            events.push_back(plan.events[e]);
          groups.emplace_back(std::move(events));
        }
        papi::EventSet set(names, plan.domain);
        for (Group& group : groups)
          group.start();
        set.start();
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
        while (std::chrono::steady_clock::now() < until) {
        }
        for (Group& group : groups)
          group.stop();
        return std::ranges::all_of(groups, [](Group& group) { return witness::complete(group.read()); }) ? 0
                                                                                                         : 1;
      },
      trial_limit);
  return child.exit.ok();
}

PlanRow papi_row(const PlanRow& of, const PapiTrial& trial) {
  PlanRow row = of;
  row.witness = Witness::papi;
  if (row.kind == RowKind::metric) return row; // refused: no formula of it can be evaluated here
  row.refused = {};
  if (const auto why = trial.refused.find(row.name); why != trial.refused.end()) row.refused = why->second;
  return row;
}

} // namespace

std::vector<PapiNames> add_papi(Plan& plan, bool perf) {
  PapiTrial trial = try_papi(names_in(plan.rows), plan.domain);
  if (perf && !trial.sets.empty()) trial.sets.front().joint = undisturbed(plan, trial.sets.front().names);
  const auto joint = [&](const PlanRow& row) {
    return !trial.sets.empty() && trial.sets.front().joint &&
           std::ranges::all_of(row.operands, [&](const Operand& operand) {
             return std::ranges::count(trial.sets.front().names, operand.name) > 0;
           });
  };
  std::vector<PlanRow> rows;
  for (const PlanRow& row : plan.rows) {
    // Without perf, parts of a count and names in a second group are rows of nobody.
    if (perf || row.kind == RowKind::usage) rows.push_back(row);
    if (!has_papi_row(row)) continue;
    PlanRow& papi = rows.emplace_back(papi_row(row, trial));
    papi.joint = joint(row);
    if (perf) papi.twin = rows.size() - 2;
  }
  plan.rows = std::move(rows);
  if (!perf) {
    plan.events.clear();
    plan.groups.clear();
  }
  return std::move(trial.sets);
}

// Executions that PAPI counts.
namespace {

/// PAPI's counts of one repetition, over its executions.
struct PapiCounts {
  int repetition = -1;
  std::map<std::string, long long> values;
  std::map<std::string, Reason> missing;
};

/// Until a process waits: a counter that starts before would count what the other has missed.
void await_sleep(pid_t process) {
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + std::chrono::seconds(2);
  while (steady_clock::now() < until) {
    const std::string stat = base::read_file(fmt::format("/proc/{}/stat", process)).value_or("");
    const auto name_end = stat.rfind(") ");
    if (name_end == stat.npos || stat.substr(name_end + 2, 1) == "S") return;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// An event set that counts a command. What PAPI refuses is a missing value: the command runs all the same.
class PapiOfCommand {
public:
  PapiOfCommand(const std::vector<std::string>& names, Domain domain, pid_t command, bool inherit,
                std::shared_ptr<PapiCounts> into)
      : names_(names), into_(std::move(into)) {
    try {
      papi::initialise();
      papi::register_thread();
      await_sleep(command);
      set_ = std::make_unique<papi::EventSet>(names_, domain, command, inherit);
      set_->start();
    } catch (const Error& error) {
      lose(error);
    }
  }
  void finish() {
    if (!set_) return;
    std::vector<long long> values(names_.size());
    try {
      set_->stop(values.data());
      for (std::size_t i = 0; i < names_.size(); ++i)
        into_->values[names_[i]] = values[i];
    } catch (const Error& error) {
      lose(error);
    }
    set_.reset();
  }

private:
  void lose(const Error& error) {
    set_.reset();
    for (const std::string& name : names_)
      into_->missing[name] = error.problem();
  }
  std::vector<std::string> names_;
  std::shared_ptr<PapiCounts> into_;
  std::unique_ptr<papi::EventSet> set_;
};

/// The reason where an operand of the row has no value.
std::optional<Reason> missing_operand(const PlanRow& row, const PapiCounts& counts) {
  for (const Operand& operand : row.operands) {
    const auto why = counts.missing.find(operand.name);
    if (why != counts.missing.end()) return why->second;
    if (!counts.values.contains(operand.name)) return Reason("not run");
  }
  return {};
}

void fill_papi(const Plan& plan, const PapiCounts& counts, double seconds,
               std::vector<result::Observation>& rows) {
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (row.witness != Witness::papi || !row.refused.empty()) continue;
    result::Observation& o = rows[r];
    o.nesting = row.joint ? result::Nesting::outer : result::Nesting::apart;
    if (const auto why = missing_operand(row, counts)) {
      o.reason = *why;
      continue;
    }
    o.reason = Reason();
    if (row.kind == RowKind::metric) {
      fill_metric(
          row, [&](const std::string& name) { return static_cast<double>(counts.values.at(name)); }, seconds,
          o);
      continue;
    }
    const long long count = counts.values.at(row.name);
    const event::Scale& scale = row.operands.front().scale;
    if (scale.unit.empty())
      o.value = std::int64_t{count};
    else
      o.value = static_cast<double>(count) * scale.factor;
    witness::refuse_negative(o);
  }
}

} // namespace

std::vector<Pass> papi_passes(const Plan& plan, const std::vector<PapiNames>& sets, bool perf,
                              const Request& request) {
  const auto counts = std::make_shared<PapiCounts>();
  const auto nothing = std::make_shared<Plan>(); // for executions that PAPI alone counts
  nothing->domain = plan.domain;
  if (!perf) nothing->rows = plan.rows;
  std::vector<Pass> passes;
  const auto add = [&](const PapiNames& set) {
    const Companion papi = [names = set.names, domain = plan.domain, inherit = request.inherit,
                            counts](pid_t command) {
      const auto counting = std::make_shared<PapiOfCommand>(names, domain, command, inherit, counts);
      return [counting] { counting->finish(); };
    };
    const bool with_perf = perf && set.joint;
    const Pass execute =
        perf_pass(with_perf ? plan : *nothing, request, set.names.empty() ? Companion() : papi);
    passes.emplace_back(
        [&plan, perf, with_perf, counts, nothing, execute](const Execution& execution, Slice& slice) {
          if (counts->repetition != execution.repetition) *counts = {execution.repetition, {}, {}};
          Slice own = slice;
          const auto exit = execute(execution, with_perf || !perf ? slice : own);
          fill_papi(plan, *counts, slice.end == 0 ? own.end : slice.end, slice.rows);
          return exit;
        });
  };
  if (perf && (sets.empty() || !sets.front().joint)) passes.push_back(perf_pass(plan, request));
  for (const PapiNames& set : sets)
    add(set);
  if (passes.empty()) add({}); // for the times of the command
  return passes;
}

} // namespace recount::stat
