// The summary of recount doctor, and its one line for scripts.
#include "doctor/doctor.hpp"
#include "host/machine.hpp"

#include "base/nearest.hpp"
#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::doctor {
namespace {

using State = Finding::State;

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
    const std::string text = f ? f->text : "";
    if (text.find("no core PMU") != std::string::npos) {
      const auto& machine = host::this_machine();
      if (!machine.virtualised()) return "no core PMU that Linux can use";
      const bool named = machine.hypervisor != "unknown";
      return "no core PMU in this " + (named ? machine.hypervisor + " guest" : std::string("guest"));
    }
    return text.ends_with("(EACCES)") || text.ends_with("(EPERM)") ? "not permitted"
                                                                   : "a trial fails, see below";
  }
  [[nodiscard]] std::string remedy(const std::string& subject) const {
    const Finding* const f = find(subject);
    return f ? f->remedy : "";
  }

  [[nodiscard]] std::vector<std::string> witnesses() const {
    std::vector<std::string> names;
    for (const Area& area : areas_)
      for (const Finding& f : area.findings)
        if (area.name == "Witnesses" && f.state == State::works) names.push_back(f.subject);
    return names;
  }

  /// Classes of events that open and then count nothing.
  [[nodiscard]] std::vector<std::string> dead() const {
    std::vector<std::string> all;
    for (const Area& area : areas_)
      for (const Finding& f : area.findings)
        if (f.state == State::dead) all.push_back(f.subject);
    return all;
  }

private:
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

Readiness stat_readiness(const Summary& s) {
  if (s.hardware()) return {true, "hardware and software events"};
  if (s.software()) return {true, "software events only: " + s.why_not("core PMU")};
  return {false, "no event can be counted: " + s.why_not("software events")};
}

Readiness sweep_readiness(const Summary& s) {
  const auto names = s.witnesses();
  return {!names.empty(), names.empty() ? "no witness" : fmt::format("witnesses {}", fmt::join(names, ", "))};
}

Readiness caches_readiness(const Summary& s) {
  for (const auto& name : s.witnesses())
    if (name == "perf" || name == "papi") return {true, "from counted misses (" + name + ")"};
  return {true, "from timing only: cache misses cannot be counted"};
}

Readiness check_readiness(const Summary& s) {
  if (s.hardware())
    return {true, s.usable("presets") ? "presets and events" : "events only; no preset can be counted"};
  return {false, "no preset can be counted: " + s.why_not("core PMU")};
}

Readiness profile_readiness(const Summary& s) {
  if (s.hardware()) return {true, "samples of hardware events and cpu-clock"};
  if (s.software()) return {true, "samples of cpu-clock only: " + s.why_not("core PMU")};
  return {false, "no event can be sampled: " + s.why_not("software events")};
}

struct CommandReadiness {
  const char* command;
  Readiness (*of)(const Summary&);
};
constexpr CommandReadiness commands_known[] = {{"stat", stat_readiness},
                                               {"sweep", sweep_readiness},
                                               {"caches", caches_readiness},
                                               {"check", check_readiness},
                                               {"profile", profile_readiness}};

} // namespace

std::vector<std::string> summary_of(const std::vector<Area>& areas) {
  const Summary s(areas);
  std::vector<std::string> can, lines;
  for (const auto& [subject, what] :
       {std::pair("core PMU", "hardware events"), std::pair("presets", "PAPI presets"),
        std::pair("software events", "software events"),
        std::pair("time stamp counter", "time-stamp counter"), std::pair("breakpoints", "breakpoints")})
    if (s.usable(subject)) can.emplace_back(what);
  lines.push_back(
      fmt::format("Counted:      {}", can.empty() ? "nothing" : fmt::format("{}", fmt::join(can, ", "))));
  if (!s.hardware())
    lines.push_back("Not counted:  hardware events, PAPI presets: " + s.why_not("core PMU"));
  else if (!s.usable("presets"))
    lines.emplace_back("Not counted:  PAPI presets: PAPI has no usable table for this CPU, see below");
  else if (!s.software())
    lines.push_back("Not counted:  software events: " + s.why_not("software events"));
  if (const auto dead = s.dead(); !dead.empty())
    lines.push_back(fmt::format("Dead:         {}: they open, but count nothing", fmt::join(dead, ", ")));
  lines.push_back("Next:         " + next_step(s));
  return lines;
}

void check_readiness_name(const std::string& command) {
  std::vector<std::string> names;
  for (const auto& known : commands_known) {
    if (command == known.command) return;
    names.emplace_back(known.command);
  }
  throw bad_input("--for " + command, "no such command",
                  base::did_you_mean(command, names, fmt::format("one of {}", fmt::join(names, ", "))));
}

Readiness readiness_of(const std::string& command, const std::vector<Area>& areas) {
  const Summary s(areas);
  for (const auto& known : commands_known)
    if (command == known.command) return known.of(s);
  return {false, "unknown"};
}

} // namespace recount::doctor
