#include "run/stat_plan.hpp"

#include "base/format.hpp"
#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/process/waiter.hpp"
#include "base/text.hpp"
#include "count/errata/errata.hpp"
#include "count/event/sysfs.hpp"
#include "count/perf/errno_hints.hpp"
#include "count/perf/try_open.hpp"
#include "run/witness/counting.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <functional>
#include <utility>

namespace recount::stat {
namespace {

/// Nanoseconds for the clocks; other events are counted in themselves.
std::string common_unit(const std::vector<Event>& events) {
  for (const Event& event : events)
    if (event.attr.type == PERF_TYPE_SOFTWARE &&
        (event.attr.config == PERF_COUNT_SW_TASK_CLOCK || event.attr.config == PERF_COUNT_SW_CPU_CLOCK))
      return "ns";
  return {};
}

/// What the system accounts to a command, and the wall time: also by the names of perf stat.
struct Usage {
  const char *name, *as_perf, *unit;
};
constexpr std::array usages{Usage{"user-time", "user_time", "ns"}, Usage{"system-time", "system_time", "ns"},
                            Usage{"duration-time", "duration_time", "ns"}, Usage{"max-rss", "", "bytes"}};
const Usage* find_usage(const std::string& name) {
  const auto found =
      std::ranges::find_if(usages, [&](const Usage& u) { return name == u.name || name == u.as_perf; });
  return found == usages.end() || name.empty() ? nullptr : &*found;
}

constexpr const char* list_forms = "-e a,b,'{c,d}': names with commas between, groups in braces";

/// Of these CPUs those on which the event can be opened.
std::vector<int> cpus_among(const std::vector<int>& cpus, const Event& event) {
  const std::vector<int>& own = event::cpus_of(event.attr, event::pmus());
  if (own.empty()) return cpus;
  return cpus | ranges::views::filter([&](int cpu) { return std::ranges::count(own, cpu) > 0; }) |
         ranges::to<std::vector>();
}

class Planner {
public:
  Planner(const metric::Metrics& metrics, Domain domain, const std::vector<int>& cpus, int cgroup)
      : metrics_(metrics) {
    plan_.domain = domain;
    plan_.cpus = cpus;
    plan_.cgroup = cgroup;
    if (cpus.empty()) return;
    options_.pid = -1;
    options_.cgroup = cgroup;
    options_.cpu = cpus.front();
  }

  void add(const Item& item) {
    const std::size_t first = plan_.rows.size();
    if (const metric::Metric* const found = metric::find(metrics_, item.name))
      add_metric(*found);
    else if (const Usage* const usage = find_usage(item.name)) {
      if (item.repeated) return;
      add_usage(*usage);
    } else
      add_counted(item.name);
    if (!item.group) return;
    for (std::size_t row = first; item.repeated && row < plan_.rows.size(); ++row) {
      plan_.rows[row].repeated = true;
      plan_.rows[row].name += fmt::format(" (group {})", *item.group + 1);
    }
    if (braces_.size() <= *item.group) braces_.resize(*item.group + 1);
    Braces& braces = braces_[*item.group];
    braces.weak = item.weak;
    for (std::size_t row = first; row < plan_.rows.size(); ++row)
      braces.rows.push_back(row);
  }

  Plan finish() && {
    for (PlanRow& row : plan_.rows)
      place(row);
    std::vector<bool> grouped(plan_.events.size());
    for (const Braces& braces : braces_)
      group(braces, grouped);
    group_the_rest(grouped);
    return std::move(plan_);
  }

private:
  /// Cached per name: the check opens the event.
  const witness::MetricEvents& resolve(const std::string& name) {
    const auto known = requested_.find(name);
    if (known != requested_.end()) return known->second;
    return requested_.emplace(name, witness::resolve_metric(name, plan_.domain, options_)).first->second;
  }

  void add_counted(const std::string& name) {
    const witness::MetricEvents& requested = resolve(name);
    // A name that is unknown is the user's mistake; an event missing on this machine is a row without value.
    if (!requested.refused.empty() && !requested.preset)
      witness::require_known(name, metrics_ | ranges::views::transform(&metric::Metric::name) |
                                       ranges::to<std::vector>());

    add_row(name, requested);
    plan_.notes.insert(plan_.notes.end(), requested.notes.begin(), requested.notes.end());
    const bool parts = !requested.preset && requested.events.size() > 1 &&
                       (event::core_of(requested.events.front().attr, event::pmus()) != nullptr ||
                        requested.events.front().attr.type == PERF_TYPE_TRACEPOINT);
    for (std::size_t part = 0; parts && part < requested.events.size(); ++part) {
      add_row(requested.events[part].name, requested);
      plan_.rows.back().part = part;
    }
  }
  void add_row(const std::string& name, const witness::MetricEvents& requested) {
    PlanRow row;
    row.name = name;
    row.kind = requested.preset || is_preset(name) ? RowKind::preset : RowKind::event;
    row.refused = requested.refused;
    row.operands.push_back(operand(name, requested));
    const std::string& stated = row.operands.front().scale.unit;
    row.unit = row.kind != RowKind::event ? "" : stated.empty() ? common_unit(requested.events) : stated;
    const auto elsewhere = [&](const Event& event) { return cpus_among(plan_.cpus, event).empty(); };
    if (row.refused.empty() && row.kind == RowKind::event && !plan_.cpus.empty() &&
        std::ranges::all_of(requested.events, elsewhere))
      row.refused =
          fmt::format("its PMU counts on CPU {} only, which -C leaves out",
                      fmt::join(event::cpus_of(requested.events.front().attr, event::pmus()), ", "));
    plan_.rows.push_back(std::move(row));
  }

  static Operand operand(const std::string& name, const witness::MetricEvents& requested) {
    Operand result{name, requested, {}, {}};
    if (!requested.preset && !requested.events.empty())
      result.scale = event::scale_of(requested.events.front(), event::pmus()).value_or(event::Scale{});
    return result;
  }

  void add_usage(const Usage& usage) {
    plan_.rows.push_back({.name = usage.name, .kind = RowKind::usage, .unit = usage.unit});
  }

  void add_metric(const metric::Metric& metric) {
    PlanRow row{.name = metric.name,
                .kind = RowKind::metric,
                .unit = metric.unit,
                .metric = metric,
                .formula = best_formula(metric)};
    for (; row.formula < metric.formulas.size(); ++row.formula) {
      if (!countable(metric.formulas[row.formula], row)) continue;
      for (const std::string& name : metric.formulas[row.formula].events())
        row.operands.push_back(operand(name, resolve(name)));
      break;
    }
    plan_.rows.push_back(std::move(row));
  }
  /// The first formula over events that are counted anyway: another one could make events multiplexed.
  /// Without a core PMU no other formula has counts either, and preset tables, which take milliseconds, need
  /// not be read.
  [[nodiscard]] std::size_t best_formula(const metric::Metric& metric) const {
    const auto is = [&](const std::string& name, const auto& condition) {
      const auto known = requested_.find(name);
      return known != requested_.end() && condition(known->second.refused);
    };
    const auto counted = [&](const std::string& name) { return is(name, std::mem_fn(&Reason::empty)); };
    const auto without_pmu = [&](const std::string& name) {
      return is(name, [](const Reason& refused) { return refused.code == ReasonCode::no_pmu; });
    };
    for (std::size_t f = 0; f < metric.formulas.size(); ++f) {
      const auto events = metric.formulas[f].events();
      if ((!events.empty() && std::ranges::all_of(events, counted)) ||
          std::ranges::any_of(events, without_pmu))
        return f;
    }
    return 0;
  }
  /// Whether a formula can be evaluated here; else sets the reason of the row.
  bool countable(const metric::Formula& formula, PlanRow& row) {
    for (const std::string& name : formula.events()) {
      row.refused = resolve(name).refused;
      row.refused_by = row.refused.empty() ? "" : name;
      if (!row.refused.empty()) return false;
    }
    return true;
  }

  void place(PlanRow& row) {
    if (!row.refused.empty()) return;
    for (Operand& operand : row.operands)
      for (const Event& event : operand.requested.events)
        operand.events.push_back(event::place_among(plan_.events, event));
  }

  [[nodiscard]] std::vector<Event> events(const std::vector<std::size_t>& which) const {
    return which | ranges::views::transform([&](std::size_t i) { return plan_.events[i]; }) |
           ranges::to<std::vector>();
  }

  /// Slots lead the group of top-down metrics.
  void slots_first(std::vector<std::size_t>& members) const {
    std::ranges::stable_partition(
        members, [&](std::size_t e) { return event::is_slots(plan_.events[e].attr, event::pmus()); });
  }

  /// A group of the user.
  struct Braces {
    std::vector<std::size_t> rows;
    bool weak = false;
  };

  void group(const Braces& braces, std::vector<bool>& grouped) {
    std::vector<std::size_t> members;
    std::map<std::size_t, std::size_t> places; // in this group, of events by their first place
    for (const std::size_t r : braces.rows)
      for (Operand& operand : plan_.rows[r].operands)
        for (std::size_t& e : operand.events) {
          const auto [known, added] = places.try_emplace(e, e);
          if (added && grouped[e]) { // in an earlier group: opened once more in this one
            known->second = plan_.events.size();
            plan_.events.push_back(Event(plan_.events[e]));
            grouped.push_back(false);
          }
          e = known->second;
          if (!added) continue;
          grouped[e] = true;
          members.push_back(e);
        }
    slots_first(members);
    // Events of different core types are never in one kernel group.
    while (!members.empty()) {
      const auto core = [&](std::size_t e) { return event::core_of(plan_.events[e].attr, event::pmus()); };
      const host::Pmu* const first = core(members.front());
      const auto others =
          std::ranges::stable_partition(members, [&](std::size_t e) { return core(e) == first; });
      std::vector<std::size_t> rest(others.begin(), others.end());
      members.erase(others.begin(), others.end());
      if (opens(members, braces.weak))
        plan_.groups.push_back(members);
      else
        for (const std::size_t e : members)
          grouped[e] = false;
      members = std::move(rest);
    }
  }

  /// Throws Error where events do not fit into one group; false for a weak one.
  [[nodiscard]] bool opens(const std::vector<std::size_t>& members, bool weak) const {
    try {
      (void)Group(events(members), options_);
    } catch (const Error& error) {
      if (weak) return false;
      Problem problem = error.problem();
      if (problem.fix == perf::fix_of_group)
        problem.fix = "'{a,b}:W' allows recount to split the group; or write two groups: '{a},{b}'";
      throw Error(error.kind(), problem);
    }
    return true;
  }

  void group_the_rest(const std::vector<bool>& grouped) {
    std::vector<std::size_t> left;
    for (std::size_t e = 0; e < grouped.size(); ++e)
      if (!grouped[e]) left.push_back(e);
    if (left.empty()) return;
    slots_first(left);
    const Counters counters(events(left), options_);
    for (const auto& group : counters.groups()) {
      auto& members = plan_.groups.emplace_back();
      for (const std::size_t i : group)
        members.push_back(left[i]);
    }
    plan_.notes.insert(plan_.notes.end(), counters.notes().begin(), counters.notes().end());
  }

  const metric::Metrics& metrics_;
  GroupOptions options_; ///< of trials
  Plan plan_;
  std::map<std::string, witness::MetricEvents> requested_;
  std::vector<Braces> braces_;
};

} // namespace

std::vector<int> cpus_of_group(const Plan& plan, const std::vector<std::size_t>& group) {
  return cpus_among(plan.cpus, plan.events[group.front()]);
}

std::vector<std::string> default_items(Counted what) {
  std::vector<std::string> items{"perf::TASK-CLOCK", "processors-used"};
  if (what == Counted::cpus) {
    items = {"perf::CPU-CLOCK"};
    const auto power = std::ranges::find(event::pmus(), "power", &host::Pmu::name);
    if (power != event::pmus().end() && power->events.contains("energy-pkg"))
      items.insert(items.end(), {"power/energy-pkg/", "package-power"});
  }
  if (what == Counted::command) items.insert(items.end(), {"user-time", "system-time", "max-rss"});
  items.insert(items.end(), {"perf::PAGE-FAULTS", "page-fault-rate", "perf::CONTEXT-SWITCHES",
                             "perf::CPU-MIGRATIONS", "perf::CYCLES", "perf::INSTRUCTIONS", "ipc",
                             "perf::BRANCH-MISSES", "branch-misprediction-rate"});
  return items;
}

std::vector<std::string> detailed_items() {
  return {"perf::L1-DCACHE-LOADS", "perf::L1-DCACHE-LOAD-MISSES", "perf::LLC-LOADS", "perf::LLC-LOAD-MISSES"};
}

Domain allowed_domain() {
  perf_event_attr attr = encode("perf::PAGE-FAULTS", Domain::all).attr;
  attr.disabled = 1;
  return perf::open_sized(attr, {}).error == EACCES ? Domain::user : Domain::all;
}

Plan make_plan(const std::vector<Item>& items, const metric::Metrics& metrics, Domain domain,
               const std::vector<int>& cpus, int cgroup) {
  Planner planner(metrics, domain, cpus, cgroup);
  for (const Item& item : items)
    planner.add(item);
  return std::move(planner).finish();
}

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> words(1);
  bool within_terms = false;
  for (const char c : list) {
    std::string& word = words.back();
    // mem:ADDRESS/LENGTH has a single slash, and no comma in it.
    const bool mem = word.compare(std::min(word.find_first_not_of(" {"), word.size()), 4, "mem:") == 0;
    if (c == '/' && !mem) within_terms = !within_terms;
    if (c == ',' && !within_terms)
      words.emplace_back();
    else
      word += c;
  }
  if (within_terms) throw bad_input("-e " + std::string(list), "a / is not closed: PMU/terms/", list_forms);
  return words;
}

namespace {

/// Gives names the modifiers behind their group, ":uW"; W allows the group to be split.
void add_modifiers(std::span<Item> items, std::string letters, const std::string& list) {
  if (letters.empty()) return;
  if (letters.front() != ':') throw bad_input(list, "a comma is expected after }", list_forms);
  letters.erase(0, 1);
  if (letters.empty() || letters.find_first_not_of("ukhGHIpPSDWe") != std::string::npos)
    throw bad_input(list, "\"" + letters + "\" behind a group is no modifier", list_forms);
  const bool weak = std::erase(letters, 'W') > 0;
  std::erase(letters, 'S'); // about samples
  for (Item& item : items) {
    item.weak = weak;
    if (!letters.empty()) item.name += (item.name.ends_with('/') ? "" : ":") + letters;
  }
}

/// Adds a name once, and once more for each further group that it is in.
void add_item(const Item& item, std::vector<Item>& items) {
  bool known = false;
  for (Item& one : items) {
    if (one.name != item.name) continue;
    if (!item.group || one.group == item.group) return;
    if (!one.group) {
      one = item;
      return;
    }
    known = true;
  }
  items.push_back(item);
  items.back().repeated = known;
}

void take_list(const std::string& list, std::size_t& groups, std::vector<Item>& items) {
  const std::string option = "-e " + list;
  bool in_group = false;
  std::vector<Item> members; // of the group
  for (const std::string& text : split_names(list)) {
    std::string_view word = base::trim(text);
    if (word.starts_with('{')) {
      if (in_group) throw bad_input(option, "a { within a {", list_forms);
      in_group = true;
      word = base::trim(word.substr(1));
    }
    const std::size_t after_terms = word.rfind('/') == word.npos ? 0 : word.rfind('/');
    const std::size_t open = word.find('{', after_terms), close = word.find('}', after_terms);
    if (open != word.npos)
      throw bad_input(option, in_group && open < close ? "a { within a {" : "a comma is expected before {",
                      list_forms);
    if (close != word.npos && !in_group) throw bad_input(option, "a } without a matching {", list_forms);
    const std::string name(base::trim(word.substr(0, close)));
    if (name.empty() && !base::trim(list).empty()) throw bad_input(option, "a name is missing", list_forms);
    if (in_group && !name.empty())
      members.push_back({name, groups});
    else if (!name.empty())
      add_item({name, {}}, items);
    if (close == word.npos) continue;
    add_modifiers(members, std::string(base::trim(word.substr(close + 1))), option);
    for (const Item& member : std::exchange(members, {}))
      add_item(member, items);
    in_group = false;
    ++groups;
  }
  if (in_group) throw bad_input(option, "a { without a matching }", list_forms);
}

} // namespace

std::vector<Item> parse_items(const std::vector<std::string>& lists) {
  std::vector<Item> items;
  std::size_t groups = 0;
  for (const std::string& list : lists)
    take_list(list, groups, items);
  return items;
}

std::string errata_note(const Plan& plan, const host::Cpu& cpu) {
  std::vector<std::pair<std::string, std::string>> events; // by erratum, in the order of the plan
  for (const Event& event : plan.events)
    for (const auto* const erratum : errata::of_event(event, cpu)) {
      const auto known = std::ranges::find(events, erratum->number, &decltype(events)::value_type::first);
      if (known == events.end())
        events.emplace_back(erratum->number, event.name);
      else if (known->second != event.name && !known->second.ends_with(", " + event.name))
        known->second += ", " + event.name;
    }
  std::string text;
  for (const auto& [number, names] : events)
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", number, names);
  return text.empty() ? text : "errata of this CPU concern these events: " + text + "; see recount doctor";
}

namespace {

std::vector<Count> select(const Operand& operand, std::span<const Count> counts) {
  return operand.events | ranges::views::transform([&](std::size_t e) { return counts[e]; }) |
         ranges::to<std::vector>();
}

/// An operand as a separate observation.
result::Observation observe(const Operand& operand, std::span<const Count> counts) {
  result::Observation o;
  witness::fill(o, operand.requested, select(operand, counts));
  witness::refuse_negative(o);
  if (const auto value = result::as_double(o.value); value && !operand.scale.unit.empty())
    o.value = *value * operand.scale.factor;
  return o;
}

/// The part of one core type. It is scaled as the sum is: its own running time is the time on that core type.
result::Observation observe_part(const Operand& operand, std::size_t part, std::span<const Count> counts) {
  const auto all = select(operand, counts);
  const Count& own = all[part];
  result::Observation o;
  o.enabled_ns = static_cast<std::int64_t>(own.enabled_ns);
  o.running_ns = static_cast<std::int64_t>(own.running_ns);
  const Count whole = sum_of_core_types(all);
  o.reason = own.value ? Shared<Reason>(why_not_scaled(whole)) : own.reason;
  if (own.value && o.reason.empty())
    o.value = static_cast<std::int64_t>(std::llround(static_cast<double>(*own.value) / share(whole)));
  return o;
}

double share_of(const result::Observation& o) {
  if (!o.enabled_ns || !o.running_ns || *o.enabled_ns == 0) return 1;
  return static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns);
}

/// Flags and times of an operand limit those of the metric.
void take_over(const result::Observation& part, result::Observation& whole) {
  if (!whole.enabled_ns || share_of(part) < share_of(whole)) {
    whole.enabled_ns = part.enabled_ns;
    whole.running_ns = part.running_ns;
  }
  for (const Flag& flag : part.flags)
    if (std::ranges::find(whole.flags, flag) == whole.flags.end()) whole.flags.push_back(flag);
}

result::Observation ratio(const PlanRow& row, std::span<const Count> counts, double seconds) {
  result::Observation o;
  std::map<std::string, double> values;
  for (const Operand& operand : row.operands) {
    const result::Observation part = observe(operand, counts);
    take_over(part, o);
    const auto value = result::as_double(part.value);
    if (!value) {
      o.reason = part.reason->about(operand.name);
      return o;
    }
    values[operand.name] = *value;
  }
  fill_metric(
      row, [&](const std::string& name) { return values.at(name); }, seconds, o);
  return o;
}

} // namespace

void fill_metric(const PlanRow& row, const std::function<double(const std::string& name)>& value,
                 double seconds, result::Observation& o) {
  const metric::Formula& formula = row.metric.formulas[row.formula];
  std::vector<double> values;
  for (const formula::Quantity& quantity : formula.named.quantities)
    if (!quantity.name.empty())
      values.push_back(quantity.name == metric::seconds ? seconds : value(quantity.name));
  const metric::Value result = metric::evaluate(row.metric, formula, values);
  const bool impossible = result.outside && *result.value < 0;
  if (impossible)
    o.reason = fmt::format("its formula gives {:.3g}, which is outside its range", *result.value);
  else if (result.value)
    o.value = *result.value;
  else
    o.reason = result.reason;
  if (result.outside && !impossible)
    o.flags.emplace_back(Flag::Kind::note,
                         "outside its range: the events do not count what " + formula.text + " assumes");
}

std::vector<result::Observation> evaluate(const Plan& plan, std::span<const Count> counts, double seconds) {
  std::vector<result::Observation> all;
  for (const PlanRow& row : plan.rows) {
    result::Observation o;
    if (row.kind == RowKind::modelled)
      o.reason = "not simulated";
    else if (!row.refused.empty())
      o.reason = row.refused_by.empty() ? row.refused : row.refused.about(row.refused_by);
    else if (!row.witness.empty())
      o.reason = "not run";
    else if (row.kind == RowKind::usage && row.name == "duration-time")
      o.value = seconds * 1e9;
    else if (row.kind == RowKind::usage)
      o.reason = "known only for a command, after it has ended";
    else if (row.part)
      o = observe_part(row.operands.front(), *row.part, counts);
    else
      o = row.kind == RowKind::metric ? ratio(row, counts, seconds) : observe(row.operands.front(), counts);
    o.witness = !row.witness.empty()          ? row.witness
                : row.kind != RowKind::usage  ? Witness::perf
                : row.name == "duration-time" ? Witness::clock
                                              : Witness::rusage;
    o.metric = row.name;
    o.unit = row.unit;
    all.push_back(std::move(o));
  }
  return all;
}

void fill_usage(const Plan& plan, const process::Exit& exit, std::vector<result::Observation>& rows) {
  if (!exit.usage) return;
  const process::Usage& usage = *exit.usage;
  // Linux keeps the peak of a process over exec: a value up to that of recount's own child is unknown.
  // What the child touched between the query and exec, and pages that Linux counts per CPU and adds up later.
  const double slack = (1 << 18) + 0.05 * exit.before_exec.max_rss;
  const bool hidden = usage.max_rss <= exit.before_exec.max_rss + slack;
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (row.kind != RowKind::usage || row.name == "duration-time") continue;
    if (row.name == "max-rss" && hidden) {
      rows[r].reason =
          fmt::format("at most {:.1f} MiB, the size of recount before exec", usage.max_rss / (1 << 20));
      continue;
    }
    rows[r].value = row.name == "user-time"     ? usage.user_ns
                    : row.name == "system-time" ? usage.system_ns
                                                : usage.max_rss;
    rows[r].reason.clear();
  }
}

Domain parse_domain(const std::string& name) {
  if (name.empty()) return allowed_domain();
  if (name == "user") return Domain::user;
  if (name == "kernel") return Domain::kernel;
  if (name == "all") return Domain::all;
  throw bad_input("--domain " + name, "is not one of user, kernel, all");
}

namespace {
std::vector<pid_t> parse_ids(const std::vector<std::string>& lists, const std::string& option,
                             const char* invalid, const char* fix) {
  std::vector<pid_t> ids;
  for (const std::string& word : base::list_words(lists)) {
    ids.push_back(base::parse<pid_t>(word).value_or(0));
    if (ids.back() <= 0) throw bad_input(option + word, invalid, fix);
  }
  return ids;
}
} // namespace

std::vector<pid_t> parse_pids(const std::vector<std::string>& lists) {
  const auto pids = parse_ids(lists, "--pid ", "invalid PID", "ps -e lists the running processes");
  for (const pid_t pid : pids)
    if (const auto process = process::read_process(pid); process && *process != pid)
      throw bad_input(
          fmt::format("--pid {}", pid), fmt::format("is a thread of process {}", *process),
          fmt::format("--pid {} counts all threads of that process, --tid {} this one alone", *process, pid));
  return pids;
}

std::vector<pid_t> parse_tids(const std::vector<std::string>& lists) {
  return parse_ids(lists, "--tid ", "invalid thread ID", "ps -eL lists the running threads");
}

std::string core_name(int cpu) {
  const auto number = [cpu](const char* file) {
    const auto text =
        base::read_file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, file)).value_or("");
    return base::parse<int>(base::trim(text));
  };
  const auto package = number("physical_package_id"), core = number("core_id");
  return package && core ? fmt::format("S{}-C{}", *package, *core) : fmt::format("CPU{}", cpu);
}

std::vector<int> parse_cpus(const std::vector<std::string>& lists) {
  const auto online = host::online_cpus();
  if (lists.empty()) return online;
  std::vector<int> cpus;
  for (const std::string& list : lists) {
    const auto some = base::parse_cpu_list(list);
    if (some.empty() || list.find_first_not_of("0123456789,-") != std::string::npos)
      throw bad_input("-C " + list, "is not a list of CPUs", "-C 0-3,8");
    for (const int cpu : some) {
      if (std::ranges::count(online, cpu) == 0)
        throw bad_input("-C " + list, fmt::format("CPU {} is not online", cpu),
                        "/sys/devices/system/cpu/online lists those that are");
      if (std::ranges::count(cpus, cpu) == 0) cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::string show_cpus(const std::vector<int>& cpus) {
  return fmt::format("{} {}", cpus.size() > 1 ? "CPUs" : "CPU", fmt::join(cpus, " "));
}

std::string show_pids(const std::vector<pid_t>& pids, bool threads) {
  const bool several = pids.size() > 1;
  return fmt::format("{} {}",
                     threads   ? (several ? "threads" : "thread")
                     : several ? "processes"
                               : "process",
                     fmt::join(pids, " "));
}

std::vector<std::string> make_notes(const Plan& plan, const std::string& domain) {
  auto notes = plan.notes;
  if (domain.empty() && plan.domain == Domain::user)
    notes.emplace_back(
        "counted in user mode only: this user may not count in the kernel (see recount doctor)");
  if (auto note = errata_note(plan, host::this_cpu()); !note.empty()) notes.push_back(std::move(note));
  return notes;
}

} // namespace recount::stat
