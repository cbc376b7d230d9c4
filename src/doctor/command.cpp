// recount doctor: what can be counted here and why not.
#include "doctor/doctor.hpp"
#include "command/command.hpp"
#include "command/output.hpp"
#include "host/machine.hpp"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace recount::cli {
namespace {
using State = Finding::State;

Style style_of(State state) {
  switch (state) {
  case State::works: return Style::good;
  case State::limited: return Style::warning;
  case State::missing: return Style::bad;
  case State::note: break;
  }
  return Style::faint;
}

void print(const std::vector<Area>& areas) {
  constexpr std::size_t margin = 11; // "  missing  "
  for (const auto& area : areas) {
    cli::print("{}\n", paint(Style::strong, area.name));
    for (const auto& f : area.findings) {
      const std::string mark = fmt::format("{:<7}", name_of(f.state));
      cli::print("  {}  {}\n", paint(style_of(f.state), mark), wrap(f.subject + ": " + f.text, 100, margin));
      if (!f.remedy.empty())
        cli::print("{:{}}{} {}\n", "", margin, paint(Style::strong, "remedy:"), f.remedy);
    }
  }
}

nlohmann::ordered_json machine_json() {
  const auto& m = host::this_machine();
  nlohmann::ordered_json caches = nlohmann::ordered_json::array();
  for (const auto& c : m.caches)
    caches.push_back({{"name", c.name()},
                      {"size", c.size},
                      {"line", c.line},
                      {"ways", c.ways},
                      {"shared_by", c.shared_by}});
  return {{"cpu", m.cpu.name},
          {"identity", m.cpu.identity()},
          {"architecture", m.architecture},
          {"cpus", m.cpus},
          {"memory", m.memory},
          {"os", m.os},
          {"hypervisor", m.hypervisor},
          {"caches", caches}};
}

void print_json(const std::vector<Area>& areas) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const auto& area : areas) {
    for (const auto& f : area.findings)
      findings.push_back({{"area", area.name},
                          {"subject", f.subject},
                          {"state", name_of(f.state)},
                          {"text", f.text},
                          {"remedy", f.remedy}});
  }
  const nlohmann::ordered_json all{{"machine", machine_json()}, {"findings", findings}};
  // What sysfs says need not be UTF-8.
  cli::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}
} // namespace

std::string name_of(State state) {
  switch (state) {
  case State::works: return "works";
  case State::limited: return "limited";
  case State::missing: return "missing";
  case State::note: break;
  }
  return "note";
}

Command doctor_command() {
  return {"doctor", "tell what can be counted here, and why not", [](Options& options) {
            auto json = std::make_shared<bool>(false);
            options.flag("--json", *json, "print one JSON object instead of text");
            return [json] {
              // The trials fork, which is safest while nothing has started threads.
              const std::vector<Area> areas{examine_machine(), examine_counting(), examine_permission(),
                                            examine_papi(),    examine_figures(),  examine_witnesses()};
              *json ? print_json(areas) : print(areas);
              return 0;
            };
          }};
}

} // namespace recount::cli
