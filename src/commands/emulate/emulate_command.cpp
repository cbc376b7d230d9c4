// recount emulate: any program on an emulated machine with counters.
#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/process/waiter.hpp"
#include "model/emulate/cpuid.hpp"
#include "model/emulate/emulation.hpp"
#include "model/emulate/server.hpp"
#include "model/trace/session.hpp"
#include "run/stat_run.hpp"
#include "show/command/command.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace recount::emulate {
command::Command emulate_command();

namespace {

struct EmulateOptions {
  std::vector<std::string> words; ///< the machine, then the command
  std::vector<std::string> dead, dead_classes, factors, overcounts, changes, parameters, injections;
  std::string noise, mux_ms, microcode, tick;
  long seed = 1, general = 0, paranoid = -100, mlock_kb = -1;
  bool fast = false, exact = false, list = false, describe = false, quiet = false, no_smt = false,
       watchdog = false, real_time = false, rdpmc = false, no_rdpmc = false, unprivileged = false;
};

constexpr long no_level = -100;

double non_negative(const std::string& option, const std::string& text, double otherwise) {
  if (text.empty()) return otherwise;
  const auto value = base::parse<double>(text);
  if (!value || !(*value >= 0) || *value > 1e15)
    throw bad_input(option, "\"" + text + "\" is not a number from 0 to 1e15",
                    option + (otherwise == 0 ? " 0.01" : " 4"));
  return *value;
}

/// Periods: a shorter one would divide by 0.
double at_least_one(const std::string& option, const std::string& text, double otherwise) {
  const double value = non_negative(option, text, otherwise);
  if (value < 1)
    throw bad_input(option, "\"" + text + "\" is less than 1", option + fmt::format(" {:g}", otherwise));
  return value;
}

/// "NAME=TEXT".
std::pair<std::string, std::string> assignment(const std::string& option, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == text.npos || equals == 0)
    throw bad_input(option, "\"" + text + "\" has no NAME=", option + " NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string changes_from(const EmulateOptions& o) {
  std::string text;
  const auto line = [&text](const std::string& statement) { text += statement + "\n"; };
  for (const std::string& one : o.parameters) {
    const auto [name, value] = assignment("--set", one);
    line(fmt::format("parameter {} {}", name, value));
  }
  for (const std::string& event : o.dead)
    line(fmt::format("change {} = 0 * it", event));
  for (const std::string& one : o.factors) {
    const auto [event, factor] = assignment("--factor", one);
    line(fmt::format("change {} = {} * it", event, factor));
  }
  for (const std::string& one : o.overcounts) {
    const auto [event, count] = assignment("--overcount", one);
    line(fmt::format("change {} = it + {} * interrupts", event, count));
  }
  for (const std::string& one : o.changes) {
    const auto [event, formula] = assignment("--change", one);
    line(fmt::format("change {} = {}", event, formula));
  }
  if (o.general > 0) line(fmt::format("general {}", o.general));
  return text;
}

/// CALL:EVENT:ERRNO[:TIMES] as a line of options; the event may contain colons.
std::string injection(const std::string& text) {
  const auto fields = [&] {
    std::vector<std::string> all(1);
    for (const char c : text)
      c == ':' ? all.emplace_back().clear() : all.back().push_back(c);
    return all;
  }();
  if (fields.size() < 3 || fields.size() > 4)
    throw bad_input("--inject", "\"" + text + "\" is not CALL:EVENT:ERRNO[:TIMES]",
                    "--inject open:any:EBUSY");
  return fmt::format("inject {} {} {} {}\n", fields[0], fields[1], fields[2],
                     fields.size() > 3 ? fields[3] : "0");
}

std::string options_from(const EmulateOptions& o) {
  std::string text = fmt::format("watchdog {:d}\nreal_time {:d}\nrdpmc {:d}\nnoise {}\nmux_ms {}\ntick {}\n"
                                 "seed {}\n",
                                 o.watchdog, o.real_time, o.exact ? o.rdpmc : !o.no_rdpmc,
                                 non_negative("--noise", o.noise, 0), at_least_one("--mux-ms", o.mux_ms, 4),
                                 at_least_one("--tick", o.tick, 4e6), o.seed);
  if (o.exact)
    text += "exact 1\n";
  else if (!std::getenv("RECOUNT_PMU_LIBRARY"))
    text += "rates 1\n";
  if (o.paranoid != no_level) text += fmt::format("paranoid {}\n", o.paranoid);
  if (o.mlock_kb >= 0) text += fmt::format("mlock_kb {}\n", o.mlock_kb);
  for (const std::string& name : o.dead_classes)
    text += "dead_class " + name + "\n";
  for (const std::string& one : o.injections)
    text += injection(one);
  return text;
}

Emulation emulation_from(const EmulateOptions& o, const std::string& machine) {
  return {find_machine(machine), changes_from(o), options_from(o), o.microcode,
          o.unprivileged || o.paranoid != no_level || o.mlock_kb >= 0};
}

void print_machines() {
  show::Table table({{"machine"}, {"CPU"}, {"PMUs"}}, "Emulated machines");
  for (const std::string& name : machine_names()) {
    const SimulatedMachine machine = checked_settings({find_machine(name), "", ""}).machine;
    std::string pmus;
    for (const SimulatedPmu& pmu : machine.pmus)
      pmus += fmt::format("{}{}: {} general counters", pmus.empty() ? "" : ", ", pmu.name, pmu.general);
    table.add({name, machine.processor.name.empty() ? "this one" : machine.processor.name,
               pmus.empty() ? "none" : pmus});
  }
  command::print("{}", command::table_text(table));
}

std::string code_text(const EventSelect& code) {
  std::string text = fmt::format("{:#04x}.{:#04x}", code.event, code.umask);
  if (code.cmask != 0) text += fmt::format(" cmask={}", code.cmask);
  for (const auto& [set, name] :
       {std::pair(code.inv, " inv"), std::pair(code.edge, " edge"), std::pair(code.any, " any")})
    if (set) text += name;
  return text;
}

void print_events(const SimulatedMachine& machine) {
  show::Table table({{"event"}, {"code"}, {"counts"}, {"description", show::Role::words, 1}},
                    "Events of " + machine.name);
  for (const SimulatedPmu& pmu : machine.pmus)
    for (const SimulatedEvent& row : pmu.rows)
      table.add({machine.pmus.size() > 1 ? pmu.name + "/" + row.name : row.name, code_text(row.code),
                 row.formula, row.description});
  command::print("{}", command::table_text(table));
  std::string levels;
  const auto level = [&levels](const std::string& text) { levels += (levels.empty() ? "" : ", ") + text; };
  for (const CacheLevel& one : machine.caches)
    level(fmt::format("{} {} KiB, {}-way, lines of {} B", one.name, one.size / 1024, one.ways, one.line));
  for (const TlbLevel& one : machine.tlbs)
    level(fmt::format("{} TLB {} entries, {}-way", one.name, one.entries, one.ways));
  if (!levels.empty()) command::print_wrapped("Caches and TLBs: " + levels + ".", 2);
  if (!machine.source.empty()) command::print_wrapped("Source: " + machine.source, 2);
}

/// Ends as the command has ended, so that nobody can tell the difference.
int end_as(const process::Exit& exit) {
  if (exit.how != process::Exit::How::signalled) return exit.code;
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none); // the command has left one, where it may
  std::signal(exit.code, SIG_DFL);
  sigset_t open;
  sigemptyset(&open);
  sigaddset(&open, exit.code);
  command::flush(stdout);
  ::pthread_sigmask(SIG_UNBLOCK, &open, nullptr);
  ::raise(exit.code);
  return process::shell_status(exit);
}

process::Exit run_in_real_time(const std::vector<std::string>& command, const Variables& variables) {
  const process::HeldSignals signals;
  int signal = 0;
  return stat::execute(command, signals, signal, variables);
}

/// As the tool reads them (src/model/trace/valgrind/tool.h).
std::vector<std::string> cpuid_texts(const SimulatedMachine& machine) {
  std::vector<std::string> texts;
  for (const CpuidLeaf& one : cpuid_leaves(machine)) {
    unsigned mask = 0;
    std::string values;
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      mask |= one.values[i] ? 1U << i : 0;
      values += fmt::format(":{:x}", one.values[i].value_or(0));
    }
    texts.push_back(fmt::format("{:x}:{:x}:{:x}{}", one.leaf, one.part.value_or(~0U), mask, values));
  }
  return texts;
}

/// Under the Valgrind tool. The slots are accounted for by this process, which therefore has the variables.
process::Exit run_exactly(const std::vector<std::string>& command, Variables variables,
                          const SimulatedMachine& machine) {
  for (const auto& [name, value] : variables)
    if (name != "LD_PRELOAD") ::setenv(name.c_str(), value.c_str(), 1);
  if (!std::getenv("HWLOC_COMPONENTS")) // else hwloc prints that this backend cannot work under Valgrind
    variables.emplace_back("HWLOC_COMPONENTS", "-x86");
  const process::HeldSignals signals;
  CountServer server(machine);
  trace::Session session([&](std::uint32_t pid, std::uint32_t parent) { return server.begin(pid, parent); },
                         [&](trace::Reader& process) { server.end(process); });
  const auto tool = trace::tool_command(command, {.channel = session.channel(),
                                                  .code = true,
                                                  .subject = "recount emulate --exact",
                                                  .cpuid = cpuid_texts(machine),
                                                  .clock = settings().emulated_time(),
                                                  .exact = true});
  variables.insert(variables.end(), tool.environment.begin(), tool.environment.end());
  variables.emplace_back("HWLOC_COMPONENTS", "-x86"); // it asks CPUs one by one, and complains under Valgrind
  int signal = 0;
  const process::Exit exit = stat::execute(tool.argv, signals, signal, variables);
  session.finish();
  for (const std::string& what :
       {session.unsimulated(), session.doubts(), trace::unexecuted(server.undecoded(), exit)})
    if (!what.empty()) command::note("recount emulate: {}\n", what);
  return exit;
}

process::Exit run_command(const EmulateOptions& o, const Emulation& emulation, const Settings& settings,
                          const std::vector<std::string>& command) {
  const EmulatedMachine emulated(emulation, settings);
  for (const char* const name : {"LIBPFM_FORCE_PMU", "HWLOC_XMLFILE"}) // libpfm4 and hwloc find the machine
    ::unsetenv(name);
  if (!o.quiet)
    command::note("recount emulate: counts are emulated: {}, {}\n", settings.machine.name,
                  o.exact ? "what the program executes, in user mode (--exact)"
                          : "CPU time at constant rates (--fast)");
  return o.exact ? run_exactly(command, emulated.variables(), settings.machine)
                 : run_in_real_time(command, emulated.variables());
}

int execute_emulate(EmulateOptions& o) {
  if (o.fast && o.exact) throw bad_input("--exact", "contradicts --fast", "leave one of them out");
  if (o.list) {
    print_machines();
    return 0;
  }
  if (o.words.empty())
    throw bad_input("MACHINE", "missing", "recount emulate skl -- COMMAND; --list names machines");
  Emulation emulation = emulation_from(o, o.words.front());
  Settings settings = checked_settings(emulation);
  const SimulatedMachine& machine = settings.machine;
  if (o.exact && machine.caches.empty())
    throw bad_input("--exact", "the machine states no cache to simulate: " + machine.name, "--fast");
  if (!o.fast && !o.exact && !machine.caches.empty() && trace::untraceable().empty()) {
    o.exact = true;
    emulation = emulation_from(o, o.words.front());
    settings = checked_settings(emulation);
  }
  if (o.no_smt && !machine.pmus.empty() && machine.pmus.front().general_alone > 0 && o.general == 0) {
    emulation.changes += fmt::format("general {}\n", machine.pmus.front().general_alone);
    settings = checked_settings(emulation);
  }
  if (o.describe) {
    print_events(machine);
    return 0;
  }
  if (o.exact && host::this_emulation().exact)
    throw unavailable("recount emulate --exact", "runs Valgrind, which cannot run in itself", {},
                      "leave out one of the two recount emulate");
  std::vector<std::string> command(o.words.begin() + 1, o.words.end());
  if (!command.empty() && command.front() == "--") command.erase(command.begin());
  if (command.empty())
    throw bad_input("COMMAND", "missing", "recount emulate " + o.words.front() + " -- COMMAND");
  if (is_static(command.front()))
    throw unavailable("recount emulate",
                      command.front() + " is statically linked: it would see the real machine", {},
                      "link it dynamically, or count it from outside: recount emulate " + o.words.front() +
                          " -- perf stat " + command.front());
  if (const std::string sanitizer = impossible_sanitizer(command.front()); !sanitizer.empty())
    throw unavailable(
        "recount emulate",
        fmt::format("{} is built with {}, which needs its own addresses and to be the first library",
                    command.front(), sanitizer),
        {}, "build it without -fsanitize");
  return end_as(run_command(o, emulation, settings, command));
}

void declare_machine_options(command::Options& options, EmulateOptions& o) {
  options.list("--dead", o.dead, "EVENT", "EVENT counts nothing")
      .list("--dead-class", o.dead_classes, "CLASS",
            "events of Linux itself that open and count 0: breakpoint, tracepoint, hardware, page-faults "
            "..., or a PMU")
      .list("--factor", o.factors, "EVENT=F", "EVENT counts F times as much")
      .list("--overcount", o.overcounts, "EVENT=N", "EVENT counts N more per interrupt")
      .list("--change", o.changes, "EVENT=FORMULA", "EVENT counts FORMULA, in which `it` is its count so far")
      .list("--set", o.parameters, "NAME=VALUE", "a parameter of the machine")
      .text("--noise", o.noise, "S", "relative standard deviation of each count (default 0)")
      .number("--seed", o.seed, "N", "seed of the noise (default 1)", {0, 1'000'000'000})
      .text("--tick", o.tick, "N", "instructions per timer interrupt (default 4e6)")
      .number("--general", o.general, "N", "general counters (default: the machine's)", {1, 32})
      .flag("--no-smt", o.no_smt, "as many general counters as without SMT")
      .flag("--watchdog", o.watchdog, "the NMI watchdog holds a counter")
      .text("--mux-ms", o.mux_ms, "MS", "time between rotations of multiplexed events (default 4)")
      .flag("--real-time", o.real_time, "time is that of this machine, not emulated cycles by their rate")
      .flag("--rdpmc", o.rdpmc, "counters can be read in user space with --exact, too")
      .flag("--no-rdpmc", o.no_rdpmc, "counters cannot be read in user space")
      .text("--microcode", o.microcode, "VERSION",
            "microcode version in /proc/cpuinfo (default: the machine's)")
      .number("--paranoid", o.paranoid, "N", "perf_event_paranoid, and no capabilities", {-1, 4})
      .number("--mlock-kb", o.mlock_kb, "N", "perf_event_mlock_kb, and no capabilities", {0, 1'000'000'000})
      .flag("--unprivileged", o.unprivileged, "COMMAND has no capabilities")
      .list("--inject", o.injections, "CALL:EVENT:ERRNO[:TIMES]",
            "CALL (open, read, ioctl, mmap) about EVENT (a name, any, or a class) fails");
}

} // namespace

command::Command emulate_command() {
  command::Command command{"emulate", "run any program on an emulated machine with counters", {}};
  command.transparent = true;
  command.declare = [](command::Options& options) -> std::function<int()> {
    auto o = std::make_shared<EmulateOptions>();
    options.flag("--exact", o->exact, "count what the program executes (default where Valgrind is installed)")
        .flag("--fast", o->fast, "count CPU time at constant rates, without Valgrind")
        .flag("--list", o->list, "list machines and exit")
        .flag("--describe", o->describe, "print what each event of MACHINE counts and exit")
        .flag("-q,--quiet", o->quiet, "do not print that counts are emulated");
    declare_machine_options(options, *o);
    options.program(o->words, "machine, and the program to run on it");
    return [o] { return execute_emulate(*o); };
  };
  return command;
}

} // namespace recount::emulate
