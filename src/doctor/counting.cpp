// Counting: the PMUs that the kernel lists, and the events that open in a trial.
#include "base/format.hpp"
#include "doctor/doctor.hpp"
#include "event/hybrid.hpp"
#include "event/sysfs.hpp"
#include "host/event_class.hpp"
#include "host/machine.hpp"
#include "host/pmu.hpp"
#include "host/sysctl.hpp"
#include "perf/on_cpus.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/user_read.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::doctor {
namespace {
using State = Finding::State;

std::string trial(const Event& event) {
  try {
    // A core type counts on its own CPUs only.
    const perf::OnCpus there(event::cpus_of(event.attr, event::pmus()));
    Group group({event});
    group.start();
    volatile unsigned sink = 0;
    for (unsigned i = 0; i < 10'000; ++i)
      sink = sink + i;
    group.stop();
    const Count& count = group.read()[0];
    if (!count.value) return count.reason;
    return *count.value == 0 ? "it opens, but counts 0 over 10 000 loop iterations" : "";
  } catch (const Error& e) {
    return e.problem().cause;
  }
}

/// Counts `name` over a short loop: empty when a count above zero came out, else why not.
std::string trial(const std::string& name, Domain domain = Domain::user) {
  try {
    return trial(encode(name, domain));
  } catch (const Error& e) {
    return e.problem().cause;
  }
}

/// "ENOENT" of a cause that ends in "(ENOENT)"; the whole cause where it ends otherwise.
std::string short_cause(const std::string& cause) {
  const auto open = cause.rfind("(E");
  return open != std::string::npos && cause.ends_with(')') ? cause.substr(open + 1, cause.size() - open - 2)
                                                           : cause;
}

std::vector<host::Pmu> core_pmus(const std::vector<host::Pmu>& all) {
  std::vector<host::Pmu> cores;
  std::copy_if(all.begin(), all.end(), std::back_inserter(cores), [](const auto& p) { return p.core(); });
  return cores;
}

std::string names(const std::vector<host::Pmu>& pmus) {
  std::vector<std::string> list;
  for (const auto& p : pmus)
    list.push_back(p.name);
  return list.empty() ? "nothing" : fmt::format("{}", fmt::join(list, ", "));
}

Finding no_core_pmu(const std::vector<host::Pmu>& all, const std::string& why) {
  const auto& m = host::this_machine();
  const std::string remedy =
      m.virtualised() ? "give the guest a virtual PMU (KVM: -cpu host,pmu=on; VMware: vpmc.enable; "
                        "a cloud: a bare-metal instance)"
                      : "dmesg | grep -i pmu";
  return {State::missing, "core PMU",
          fmt::format("this machine has no core PMU that Linux can use: sysfs lists only {}, and opening "
                      "perf::CYCLES gives {}",
                      names(all), short_cause(why)),
          remedy};
}

/// Of a hybrid CPU: what each core type counts in a trial.
Finding core_types(const std::vector<host::Pmu>& cores) {
  std::vector<std::string> work, fail;
  bool forbidden = false;
  for (const host::Pmu& core : cores) {
    std::string why;
    for (const char* name : {"CYCLES", "INSTRUCTIONS"})
      if (const auto got = trial(fmt::format("{}/{}/", core.name, name)); !got.empty() && why.empty())
        why = fmt::format("{}/{}/: {}", core.name, name, got);
    forbidden = forbidden || why.ends_with("(EACCES)") || why.ends_with("(EPERM)");
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
          "core PMU", text, forbidden ? "see Permission below" : ""};
}

Finding core_pmu(const std::vector<host::Pmu>& all) {
  const auto cores = core_pmus(all);
  if (cores.size() > 1) return core_types(cores);
  const std::string cycles = trial("perf::CYCLES"), instructions = trial("perf::INSTRUCTIONS");
  if (cores.empty() && !cycles.empty()) return no_core_pmu(all, cycles);
  const std::string seen =
      cores.empty() ? "sysfs lists no core PMU, but" : fmt::format("sysfs lists {};", names(cores));
  if (cycles.empty() && instructions.empty())
    return {State::works, "core PMU", seen + " cycles and instructions are counted in a trial", {}};
  const std::string why = cycles.empty() ? "perf::INSTRUCTIONS: " + instructions : "perf::CYCLES: " + cycles;
  const bool forbidden = why.ends_with("(EACCES)") || why.ends_with("(EPERM)");
  return {cycles.empty() || instructions.empty() ? State::limited : State::missing, "core PMU",
          fmt::format("{} a trial fails: {}", seen, why), forbidden ? "see Permission below" : ""};
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
  const bool there = std::any_of(all.begin(), all.end(), [](const auto& p) { return p.name == "msr"; });
  const std::string subject = "time stamp counter";
  if (is_dead(host::EventClass::tsc)) return {};
  if (!there) return {{State::note, subject, "no msr PMU: the clock witness reads the clock directly", {}}};
  const std::string why = trial("msr/tsc/", Domain::all);
  if (why.empty()) return {{State::works, subject, "msr/tsc/ counts while the task runs", {}}};
  return {{State::missing, subject, "msr/tsc/: " + why, {}}};
}

/// Opens breakpoints until none is left.
std::vector<Finding> breakpoints() {
  if (is_dead(host::EventClass::breakpoint)) return {};
  static std::array<char, 64> watched;
  std::vector<Group> open;
  std::string why;
  try {
    for (std::size_t i = 0; i < watched.size(); ++i)
      open.emplace_back(
          std::vector<std::string>{fmt::format("mem:{}/1:w:u", static_cast<const void*>(&watched[i]))});
  } catch (const Error& e) {
    why = e.problem().cause;
  }
  if (open.empty()) return {{State::missing, "breakpoints", why, {}}};
  return {{State::works,
           "breakpoints",
           fmt::format("a trial counted {}; {} can be open at once; the next fails with {}",
                       evidence(host::EventClass::breakpoint),
                       base::format_count(open.size(), "hardware breakpoint"), short_cause(why)),
           {}}};
}

Finding user_reads(bool core) {
  const std::string subject = "user-space reads";
  if (!core)
    return {
        State::missing, subject, "not possible without a core PMU: every read is a system call, read(2)", {}};
  try {
    const Event event = encode_each("perf::INSTRUCTIONS", Domain::user).front();
    const perf::OnCpus there(event::cpus_of(event.attr, event::pmus()));
    UserRead counter(event);
    counter.start();
    for (int i = 0; i < 100; ++i)
      static_cast<void>(counter.value());
    counter.stop();
    if (counter.direct() > 0)
      return {State::works,
              subject,
              fmt::format("{} of 100 reads in a trial needed no system call", counter.direct()),
              {}};
  } catch (const Error& e) {
    return {State::missing, subject, e.problem().cause, {}};
  }
  const auto arm = host::sysctl("kernel.perf_user_access");
  return {State::missing, subject, "not allowed by the kernel: reads fall back to read(2)",
          arm ? "sudo sysctl kernel.perf_user_access=1"
              : "echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc"};
}

Finding watchdog(bool core) {
  const auto on = host::sysctl_number("kernel.nmi_watchdog");
  if (!on) return {State::note, "NMI watchdog", "this kernel has none, so it uses no counter", {}};
  if (*on == 0) return {State::works, "NMI watchdog", "off, so it uses no counter", {}};
  if (!core) return {State::note, "NMI watchdog", "on, but without a core PMU it uses no counter", {}};
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

} // namespace recount::doctor
