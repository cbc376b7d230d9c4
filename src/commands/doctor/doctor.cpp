#include "commands/doctor/doctor.hpp"
#include "base/affinity.hpp"

#include "base/format.hpp"
#include "base/host/event_class.hpp"
#include "base/host/machine.hpp"
#include "base/host/pmu.hpp"
#include "base/host/sysctl.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "count/errata/errata.hpp"
#include "count/event/sysfs.hpp"
#include "count/perf/open_group.hpp"
#include "count/perf/try_open.hpp"
#include "run/witness/backend.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/user_read.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>

// Counting: the PMUs that the kernel lists, and the events that open in a trial.
namespace recount::doctor {
namespace {
using State = Finding::State;

/// What counting an event over a short loop gave.
struct Trial {
  std::string why; ///< empty: a count above zero
  int error = 0;   ///< errno of opening it; 0: it opens

  [[nodiscard]] bool counts() const { return why.empty(); }
  [[nodiscard]] ReasonCode code() const {
    return error == EACCES || error == EPERM ? ReasonCode::permission : ReasonCode::other;
  }
  /// "ENOENT", or the whole cause where opening did not fail.
  [[nodiscard]] std::string brief() const { return error > 0 ? strerrorname_np(error) : why; }
};

Trial trial(const Event& event) {
  try {
    // A core type counts on its own CPUs only.
    const base::Affinity pinned(event::cpus_of(event.attr, event::pmus()));
    Group group({event});
    group.start();
    volatile unsigned sink = 0;
    for (unsigned i = 0; i < 10'000; ++i)
      sink = sink + i;
    group.stop();
    const Count& count = group.read()[0];
    if (!count.value) return {count.reason->cause};
    return {*count.value == 0 ? "it opens, but counts 0 over 10 000 loop iterations" : ""};
  } catch (const Error& e) {
    return {e.problem().cause, e.problem().error};
  }
}

Trial trial(const std::string& name, Domain domain = Domain::user) {
  try {
    return trial(encode(name, domain));
  } catch (const Error& e) {
    return {e.problem().cause};
  }
}

std::string names(const std::vector<host::Pmu>& pmus) {
  return pmus.empty() ? "nothing"
                      : fmt::format("{}", fmt::join(pmus | ranges::views::transform(&host::Pmu::name), ", "));
}

std::string permission_fix(ReasonCode code) {
  return code == ReasonCode::permission ? "see Permission below" : "";
}

Finding no_core_pmu(const std::vector<host::Pmu>& all, const Trial& cycles) {
  const auto& m = host::this_machine();
  const std::string fix = m.virtualised()
                              ? "give the guest a virtual PMU (KVM: -cpu host,pmu=on; VMware: vpmc.enable; "
                                "a cloud: a bare-metal instance)"
                              : "dmesg | grep -i pmu";
  return {State::missing, "core PMU",
          fmt::format("this machine has no core PMU that Linux can use: sysfs lists only {}, and opening "
                      "perf::CYCLES gives {}",
                      names(all), cycles.brief()),
          fix, ReasonCode::no_pmu};
}

/// Of a hybrid CPU: what each core type counts in a trial.
Finding core_types(const std::vector<host::Pmu>& cores) {
  std::vector<std::string> work, fail;
  ReasonCode code = ReasonCode::other;
  for (const host::Pmu& core : cores) {
    std::string why;
    for (const char* name : {"CYCLES", "INSTRUCTIONS"})
      if (const Trial got = trial(fmt::format("{}/{}/", core.name, name)); !got.counts() && why.empty()) {
        why = fmt::format("{}/{}/: {}", core.name, name, got.why);
        if (got.code() != ReasonCode::other) code = got.code();
      }
    why.empty() ? work.push_back(fmt::format("{} (CPUs {})", core.name, fmt::join(core.cpus, ",")))
                : fail.push_back(why);
  }
  std::string text = fmt::format("hybrid CPU, sysfs lists {};", names(cores));
  if (!work.empty())
    text += fmt::format(" cycles and instructions are counted in a trial on {}", fmt::join(work, " and "));
  if (!fail.empty())
    text += fmt::format("{} a trial fails: {}", work.empty() ? "" : ";", fmt::join(fail, "; "));
  return {fail.empty()   ? State::works
          : work.empty() ? State::missing
                         : State::limited,
          "core PMU", text, permission_fix(code), code};
}

Finding core_pmu(const std::vector<host::Pmu>& all) {
  const auto cores = all | ranges::views::filter(&host::Pmu::core) | ranges::to<std::vector>();
  if (cores.size() > 1) return core_types(cores);
  const Trial cycles = trial("perf::CYCLES"), instructions = trial("perf::INSTRUCTIONS");
  if (cores.empty() && !cycles.counts()) return no_core_pmu(all, cycles);
  const std::string seen =
      cores.empty() ? "sysfs lists no core PMU, but" : fmt::format("sysfs lists {};", names(cores));
  if (cycles.counts() && instructions.counts())
    return {State::works, "core PMU", seen + " cycles and instructions are counted in a trial"};
  const Trial& failed = cycles.counts() ? instructions : cycles;
  return {cycles.counts() || instructions.counts() ? State::limited : State::missing, "core PMU",
          fmt::format("{} a trial fails: perf::{}: {}", seen, &failed == &cycles ? "CYCLES" : "INSTRUCTIONS",
                      failed.why),
          permission_fix(failed.code()), failed.code()};
}

Finding other_pmus(const std::vector<host::Pmu>& all) {
  return {State::note, "PMUs", fmt::format("/sys/bus/event_source/devices has {}", names(all)),
          all.empty() ? "mount -t sysfs sysfs /sys" : ""};
}

bool is_dead(host::EventClass which) {
  return host::class_state(which).state == host::ClassState::State::dead;
}

/// "8 of 8 page faults"
std::string evidence(host::EventClass which) {
  const host::ClassState state = host::class_state(which);
  return fmt::format("{} of {} {}", state.counted, state.known, host::name_of(which));
}

/// One for each dead class.
std::vector<Finding> dead_classes() {
  std::vector<Finding> all;
  for (const auto one : host::event_classes)
    if (is_dead(one))
      all.push_back({State::dead, host::name_of(one),
                     fmt::format("they open, but a trial counted {}", evidence(one)),
                     host::this_machine().virtualised() ? "count them outside the virtual machine" : ""});
  return all;
}

Finding software_events() {
  std::vector<std::string> counted, refused;
  using enum host::EventClass;
  for (const auto one : {task_clock, page_fault, context_switch, migration}) {
    const host::ClassState state = host::class_state(one);
    if (state.state == host::ClassState::State::counts)
      counted.emplace_back(host::name_of(one));
    else if (is_dead(one) || state.error != 0) // else none could be provoked: one CPU has no migrations
      refused.push_back(
          fmt::format("{} ({})", host::name_of(one), is_dead(one) ? "dead" : strerrorname_np(state.error)));
  }
  std::string text = fmt::format("counted in a trial: {}",
                                 counted.empty() ? "none" : fmt::format("{}", fmt::join(counted, ", ")));
  if (!refused.empty()) text += fmt::format("; not counted: {}", fmt::join(refused, ", "));
  return {counted.empty()   ? State::missing
          : refused.empty() ? State::works
                            : State::limited,
          "software events", text, refused.empty() ? "" : "see Permission below"};
}

std::vector<Finding> tsc(const std::vector<host::Pmu>& all) {
  const std::string subject = "time stamp counter";
  if (is_dead(host::EventClass::tsc)) return {};
  if (std::ranges::find(all, "msr", &host::Pmu::name) == all.end())
    return {{State::note, subject, "no msr PMU: the clock witness reads the clock directly"}};
  const Trial ticks = trial("msr/tsc/", Domain::all);
  if (ticks.counts()) return {{State::works, subject, "msr/tsc/ counts while the task runs"}};
  return {{State::missing, subject, "msr/tsc/: " + ticks.why}};
}

/// Opens breakpoints until none is left.
std::vector<Finding> breakpoints() {
  if (is_dead(host::EventClass::breakpoint)) return {};
  static std::array<char, 64> watched;
  std::vector<Group> open;
  Trial next;
  for (const char& byte : watched) {
    const Event event = encode(fmt::format("mem:{}/1:w:u", static_cast<const void*>(&byte)));
    try {
      open.emplace_back(std::vector<Event>{event});
    } catch (const Error& e) {
      next = {e.problem().cause, e.problem().error};
      break;
    }
  }
  if (open.empty()) return {{State::missing, "breakpoints", next.why}};
  return {{State::works, "breakpoints",
           fmt::format("a trial counted {}; {} can be open at once; the next fails with {}",
                       evidence(host::EventClass::breakpoint),
                       base::format_count(open.size(), "hardware breakpoint"), next.brief())}};
}

Finding user_reads(bool core) {
  const std::string subject = "user-space reads";
  if (!core)
    return {State::missing, subject, "not possible without a core PMU: every read is a system call, read(2)"};
  try {
    const Event event = encode_each("perf::INSTRUCTIONS", Domain::user).front();
    const base::Affinity pinned(event::cpus_of(event.attr, event::pmus()));
    UserRead counter(event);
    counter.start();
    for (int i = 0; i < 100; ++i)
      static_cast<void>(counter.value());
    counter.stop();
    if (counter.direct() > 0)
      return {State::works, subject,
              fmt::format("{} of 100 reads in a trial needed no system call", counter.direct())};
  } catch (const Error& e) {
    return {State::missing, subject, e.problem().cause};
  }
  const auto arm = host::sysctl("kernel.perf_user_access");
  return {State::missing, subject, "not allowed by the kernel: reads fall back to read(2)",
          arm ? "sudo sysctl kernel.perf_user_access=1"
              : "echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc"};
}

Finding watchdog(bool core) {
  const auto on = host::sysctl_number("kernel.nmi_watchdog");
  if (!on) return {State::note, "NMI watchdog", "this kernel has none, so it uses no counter"};
  if (*on == 0) return {State::works, "NMI watchdog", "off, so it uses no counter"};
  if (!core) return {State::note, "NMI watchdog", "on, but without a core PMU it uses no counter"};
  return {State::limited, "NMI watchdog", "on: it uses one counter per core, so groups hold one event less",
          "sudo sysctl kernel.nmi_watchdog=0"};
}
} // namespace

Area examine_counting() {
  const auto all = host::pmus();
  const Finding pmu = core_pmu(all);
  const bool core = pmu.state == State::works || pmu.state == State::limited;
  Area area{"Counting", {pmu, other_pmus(all), software_events()}};
  for (const auto& findings :
       {dead_classes(), tsc(all), breakpoints(), std::vector{user_reads(core), watchdog(core)}})
    area.findings.insert(area.findings.end(), findings.begin(), findings.end());
  return area;
}

// The summary of recount doctor, and its one line for scripts.
namespace {

class Summary {
public:
  explicit Summary(const std::vector<Area>& areas) : areas_(areas) {}

  /// Works, perhaps with limits.
  [[nodiscard]] bool usable(const std::string& subject) const {
    const Finding* const f = find(subject);
    return f && (f->state == State::works || f->state == State::limited);
  }
  [[nodiscard]] bool hardware() const { return usable("core PMU"); }
  [[nodiscard]] bool software() const { return usable("software events"); }

  /// Why `subject` is missing, in a few words.
  [[nodiscard]] std::string why_not(const std::string& subject) const {
    const Finding* const f = find(subject);
    if (f && f->code == ReasonCode::no_pmu) {
      const auto& machine = host::this_machine();
      if (!machine.virtualised()) return "no core PMU that Linux can use";
      const bool named = machine.hypervisor != "unknown";
      return "no core PMU in this " + (named ? machine.hypervisor + " guest" : std::string("guest"));
    }
    return f && f->code == ReasonCode::permission ? "not permitted" : "a trial fails, see below";
  }
  [[nodiscard]] std::vector<std::string> witnesses() const { return subjects("Witnesses", State::works); }
  /// Classes of events that open and then count nothing.
  [[nodiscard]] std::vector<std::string> dead() const { return subjects("Counting", State::dead); }

private:
  [[nodiscard]] std::vector<std::string> subjects(const std::string& area, State state) const {
    std::vector<std::string> all;
    for (const Area& one : areas_)
      for (const Finding& f : one.findings)
        if (one.name == area && f.state == state) all.push_back(f.subject);
    return all;
  }
  [[nodiscard]] const Finding* find(const std::string& subject) const {
    for (const Area& area : areas_)
      for (const Finding& f : area.findings)
        if (f.subject == subject) return &f;
    return nullptr;
  }
  const std::vector<Area>& areas_;
};

std::string next_step(const Summary& s) {
  if (!s.software() && !s.hardware()) return "enable counting, see Permission below";
  if (s.hardware())
    return s.usable("presets") ? "recount check" : "recount stat -- COMMAND; recount presets -a";
  return "recount stat -- COMMAND; recount caches (from timing)";
}

constexpr std::array ready_commands{"stat", "sweep", "caches", "check", "profile"};

} // namespace

std::vector<SummaryLine> summarise(const std::vector<Area>& areas) {
  const Summary s(areas);
  std::vector<std::string> can;
  std::vector<SummaryLine> lines;
  for (const auto& [subject, what] :
       {std::pair("core PMU", "hardware events"), std::pair("presets", "PAPI presets"),
        std::pair("software events", "software events"),
        std::pair("time stamp counter", "time-stamp counter"), std::pair("breakpoints", "breakpoints")})
    if (s.usable(subject)) can.emplace_back(what);
  lines.push_back({"Counted", can.empty() ? "nothing" : fmt::format("{}", fmt::join(can, ", "))});
  if (!s.hardware())
    lines.push_back({"Not counted", "hardware events, PAPI presets: " + s.why_not("core PMU")});
  else if (!s.usable("presets"))
    lines.push_back({"Not counted", "PAPI presets: PAPI has no usable table for this CPU, see below"});
  else if (!s.software())
    lines.push_back({"Not counted", "software events: " + s.why_not("software events")});
  if (const auto dead = s.dead(); !dead.empty())
    lines.push_back({"Dead", fmt::format("{}: they open, but count nothing", fmt::join(dead, ", "))});
  lines.push_back({"Next", next_step(s)});
  return lines;
}

void check_readiness_name(const std::string& command) {
  if (std::ranges::find(ready_commands, command) == ready_commands.end())
    throw bad_input("--for " + command, "not one of the commands that doctor tests",
                    base::did_you_mean(command, ready_commands,
                                       fmt::format("one of {}", fmt::join(ready_commands, ", "))));
}

Readiness assess_readiness(const std::string& command, const std::vector<Area>& areas) {
  const Summary s(areas);
  const auto names = s.witnesses();
  if (command == "sweep")
    return {!names.empty(),
            names.empty() ? "no witness" : fmt::format("witnesses {}", fmt::join(names, ", "))};
  if (command == "caches") {
    for (const auto& name : names)
      if (name == "perf" || name == "papi") return {true, "from counted misses (" + name + ")"};
    return {true, "from timing only: cache misses cannot be counted"};
  }
  if (command == "check") {
    if (!s.hardware()) return {false, "no preset can be counted: " + s.why_not("core PMU")};
    return {true, s.usable("presets") ? "presets and events" : "events only; no preset can be counted"};
  }
  const bool profile = command == "profile"; // else stat
  if (s.hardware())
    return {true, profile ? "samples of hardware events and cpu-clock" : "hardware and software events"};
  if (s.software())
    return {true,
            (profile ? "samples of cpu-clock only: " : "software events only: ") + s.why_not("core PMU")};
  return {false, (profile ? "no event can be sampled: " : "no event can be counted: ") +
                     s.why_not("software events")};
}

// Witnesses: those that work here are the default of sweep.

Area examine_witnesses() {
  Area area{"Witnesses"};
  std::vector<std::string> usable;
  for (const auto& w : witness::all()) {
    const Reason why = w.missing(w.default_metrics);
    if (why.empty()) usable.push_back(Witness(w.kind).name());
    area.findings.push_back(
        {why.empty() ? Finding::State::works : Finding::State::missing, Witness(w.kind).name(),
         why.empty() ? w.prose
                     : fmt::format("{}; its default metrics ({}) are not available: {}", w.prose,
                                   fmt::join(w.default_metrics, ", "), why.text())});
  }
  area.findings.push_back({Finding::State::note, "default",
                           usable.empty() ? "none: no witness works on this machine"
                                          : fmt::format("recount sweep uses {}", fmt::join(usable, ", "))});
  return area;
}

// Errata of this CPU.
namespace {
std::vector<Finding> errata_findings() {
  std::vector<Finding> all;
  for (const auto* const erratum : errata::of_cpu(host::this_cpu())) {
    std::vector<std::string> events;
    for (const auto& event : erratum->events)
      events.push_back(event.mask ? fmt::format("{:#04x}.{:02x}", event.select, *event.mask)
                                  : fmt::format("{:#04x}", event.select));
    all.push_back(
        {State::note, "errata", fmt::format("events {}: {}", fmt::join(events, ", "), erratum->sentence())});
  }
  return all;
}

} // namespace

Area examine_errata() {
  Area area{"Errata"};
  for (auto& finding : errata_findings())
    area.findings.push_back(std::move(finding));
  return area;
}

} // namespace recount::doctor
