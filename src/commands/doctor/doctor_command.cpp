#include "base/host/event_class.hpp"
#include "base/host/machine.hpp"
#include "base/json.hpp"
#include "commands/doctor/doctor.hpp"
#include "show/command/command.hpp"
#include "show/command/output.hpp"

#include <fmt/format.h>

// recount doctor: what can be counted on this machine, and why not.
namespace recount::doctor {
namespace {
using State = Finding::State;

constexpr const char* state_names[] = {"works", "limited", "missing", "dead", "note"};

command::Style style_of(State state) {
  using enum command::Style;
  constexpr command::Style styles[] = {good, warning, bad, bad, faint};
  return styles[static_cast<std::size_t>(state)];
}

constexpr std::size_t summary_margin = 14;
constexpr std::size_t margin = 11; // "  missing  "

std::string heading(const SummaryLine& line) {
  return fmt::format("{:<{}}", line.label + ":", summary_margin);
}

void print_summary(const std::vector<Area>& areas) {
  for (const SummaryLine& line : summarise(areas))
    command::print_wrapped(line.text, summary_margin, command::paint(command::Style::strong, heading(line)));
  command::print("\n");
}

void print_finding(const Finding& finding, const std::string& text) {
  command::print("  {}  {}\n",
                 command::paint(style_of(finding.state), fmt::format("{:<7}", name_of(finding.state))),
                 command::wrap(finding.subject + ": " + text, command::line_width(), margin));
}

/// The summary, and what can be changed.
void print_short(const std::vector<Area>& areas) {
  print_summary(areas);
  for (const auto& area : areas)
    for (const auto& f : area.findings)
      if (!f.fix.empty()) print_finding(f, f.fix);
  command::print_wrapped("More: recount doctor -v, man recount-doctor", 6);
}

void print_all(const std::vector<Area>& areas) {
  print_summary(areas);
  for (const auto& area : areas) {
    command::print("{}\n", command::paint(command::Style::strong, area.name));
    for (const auto& f : area.findings) {
      print_finding(f, f.text);
      if (!f.fix.empty())
        command::print("{:{}}{}\n", "", margin,
                       command::wrap(command::paint(command::Style::strong, "fix:") + " " + f.fix,
                                     command::line_width(), margin));
    }
  }
}

Json machine_json() {
  const auto& m = host::this_machine();
  const Json caches = make_array(m.caches, [](const auto& c) {
    return Json{
        {"name", c.name()}, {"size", c.size}, {"line", c.line}, {"ways", c.ways}, {"shared_by", c.shared_by}};
  });
  return {{"cpu", m.cpu.name},
          {"identity", m.cpu.identity()},
          {"architecture", m.architecture},
          {"cpus", m.cpus},
          {"memory", m.memory},
          {"os", m.os},
          {"hypervisor", m.hypervisor},
          {"caches", caches}};
}

const char* name_of(host::ClassState::State state) {
  using enum host::ClassState::State;
  return state == counts ? "counts" : state == dead ? "dead" : "missing";
}

Json classes_json() {
  return make_array(host::event_classes, [](auto one) {
    const host::ClassState state = host::class_state(one);
    return Json{{"class", host::name_of(one)},
                {"state", name_of(state.state)},
                {"executed", state.known},
                {"counted", state.counted},
                {"errno", state.error}};
  });
}

void print_json(const std::vector<Area>& areas) {
  Json findings = Json::array();
  for (const auto& area : areas) {
    for (const auto& f : area.findings)
      findings.push_back({{"area", area.name},
                          {"subject", f.subject},
                          {"state", name_of(f.state)},
                          {"text", f.text},
                          {"fix", f.fix}});
  }
  const Json all{
      {"summary", make_array(summarise(areas), [](const auto& line) { return heading(line) + line.text; })},
      {"machine", machine_json()},
      {"classes", classes_json()},
      {"findings", findings}};
  command::print("{}", json_text("doctor", all));
}

show::Table findings_table(const std::vector<Area>& areas) {
  show::Table table({{"area"}, {"subject"}, {"state"}, {"text"}, {"fix"}}, "Findings");
  for (const auto& area : areas)
    for (const auto& f : area.findings)
      table.add({area.name, f.subject, name_of(f.state), f.text, f.fix});
  return table;
}

/// One line and a status, for scripts.
int answer_for(const std::string& command, bool json, const command::TableExport& file) {
  check_readiness_name(command);
  const Readiness got = assess_readiness(
      command, {examine_counting(), examine_permission(), examine_papi(), examine_witnesses()});
  if (json)
    command::print("{}",
                   json_text("doctor-for", {{"command", command}, {"ready", got.ready}, {"text", got.text}}));
  else
    command::print("{}: {}: {}\n", command, got.ready ? "yes" : "no", got.text);
  show::Table table({{"command"}, {"ready"}, {"text"}}, "Readiness");
  table.add({command, got.ready ? "yes" : "no", got.text});
  file.write("recount doctor", {table});
  return got.ready ? 0 : 3;
}

struct DoctorArguments {
  std::string command, export_to;
  bool json = false, all = false;
};

int execute_doctor(const DoctorArguments& requested) {
  const command::TableExport file(requested.export_to);
  if (!requested.command.empty()) return answer_for(requested.command, requested.json, file);
  // The trials fork, which is safest while nothing has started threads.
  const std::vector<Area> areas{examine_machine(), examine_counting(), examine_permission(), examine_papi(),
                                examine_errata(),  examine_figures(),  examine_witnesses()};
  if (requested.json)
    print_json(areas);
  else if (requested.all)
    print_all(areas);
  else
    print_short(areas);
  file.write("recount doctor", {findings_table(areas)});
  return 0;
}
} // namespace

std::string name_of(State state) {
  return state_names[static_cast<std::size_t>(state)];
}

command::Command doctor_command() {
  return command::make_command<DoctorArguments>(
      "doctor", "show what can be counted on this machine, and why not",
      [](command::Options& options, DoctorArguments& requested) {
        options.text("--for", requested.command, "COMMAND",
                     "report in one line and as status 0 or 3 whether COMMAND can work here: stat, "
                     "sweep, caches, check, profile");
        options.flag("-v,--verbose", requested.all, "print all findings, with their causes");
        options.flag("--json", requested.json, "print one JSON object");
        options.text("--export", requested.export_to, "FILE", command::export_help);
      },
      execute_doctor);
}

} // namespace recount::doctor
