#include "commands/cli/commands.hpp"

#include "base/names.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/view/caches_sections.hpp"
#include "commands/check/check_output.hpp"
#include "commands/compare/compare.hpp"
#include "commands/laboratory/laboratory.hpp"
#include "commands/matmul/matmul_tables.hpp"
#include "commands/profile/profile_report.hpp"
#include "commands/report/build_report.hpp"
#include "commands/sweep/sweep_table.hpp"
#include "commands/watch/watch_view.hpp"
#include "run/verdict/verdict.hpp"

// Each command is defined in the folder of its feature.
namespace recount {
namespace caches {
command::Command caches_command();
command::Command caches_worker_command(); ///< hidden: measures for recount caches
} // namespace caches
namespace check {
command::Command check_command();
}
namespace compare {
command::Command compare_command(const MachineProperties& inferred);
}
namespace cost {
command::Command cost_command();
}
namespace doctor {
command::Command doctor_command();
}
namespace emulate {
command::Command emulate_command();
}
namespace explain {
command::Command explain_command();
}
namespace lint {
command::Command lint_command();
}
namespace matmul {
command::Command matmul_command();
}
namespace profile {
command::Command profile_command();
}
namespace propose {
command::Command propose_command();
}
namespace stat {
command::Command stat_command();
}
namespace sweep {
/// `figures`: what its --plot may draw; must outlive the command.
command::Command sweep_command(const std::vector<plot::Figure>& figures);
command::Command run_point_command(); ///< hidden: serves one run of a sweep in a fresh process
} // namespace sweep
namespace watch {
command::Command watch_command();
}
} // namespace recount

namespace recount::cli {

command::Command complete_command(); ///< hidden: answers the completion scripts
command::Command completion_command();
command::Command events_command();
command::Command plot_command();
command::Command presets_command();
command::Command report_command();

std::vector<compare::MachineProperty> inferred_caches(const result::Results& results,
                                                      const result::Run& run) {
  caches::RecordSampler sampler(results, run);
  const caches::Caches found = caches::infer_caches(sampler);
  std::vector<compare::MachineProperty> all;
  const auto add = [&](const std::string& level, caches::Property property, bool shared = false) {
    if (shared && !is_nanoseconds(property.unit))
      property.forget("others used a part of the level during the measurement");
    if (!property.value && property.unknown.empty()) return;
    const double value = property.value.value_or(0);
    all.push_back({level + ' ' + property.name, property.unit, found.witness, property.value,
                   value * (1 - property.tolerance), value * (1 + property.tolerance),
                   property.unknown.text()});
  };
  for (const auto& level : found.levels)
    for (const auto* property : {&level.capacity, &level.line, &level.ways, &level.latency})
      add(level.name, *property, !level.shared_use.empty() && property != &level.line);
  for (const auto& tlb : found.tlbs)
    add(tlb.name, tlb.entries);
  add("memory", found.memory);
  return all;
}

laboratory::Features laboratory_features() {
  return {figures,
          {caches::laboratory_section(), matmul::laboratory_section()},
          [](laboratory::Paper paper, const std::string& folder) {
            auto published =
                report::publish({std::move(paper.document), std::move(paper.pictures), {}}, folder,
                                {report::Format::markdown, report::Format::html, report::Format::latex});
            return laboratory::Written{std::move(published.files), std::move(published.warnings)};
          }};
}

std::vector<command::Command> commands() {
  return {
      doctor::doctor_command(),
      events_command(),
      lint::lint_command(),
      presets_command(),
      propose::propose_command(),
      check::check_command(),
      caches::caches_command(),
      caches::caches_worker_command(), // hidden
      compare::compare_command(inferred_caches),
      stat::stat_command(),
      sweep::sweep_command(figures()),
      sweep::run_point_command(), // hidden
      plot_command(),
      cost::cost_command(),
      emulate::emulate_command(),
      profile::profile_command(),
      watch::watch_command(),
      matmul::matmul_command(),
      laboratory::laboratory_command(laboratory_features()),
      explain::explain_command(),
      report_command(),
      completion_command(),
      complete_command(),
  };
}

const std::vector<plot::Figure>& figures() {
  static const std::vector<plot::Figure> all = [] {
    std::vector<plot::Figure> list{check::agreement_figure(), watch::trace_figure(),
                                   profile::profile_figure()};
    for (auto&& feature : {caches::caches_figures(), matmul::product_figures(), plot::curve_figures()})
      list.insert(list.end(), feature.begin(), feature.end());
    list.push_back(compare::nodes_figure(inferred_caches)); // where no figure of one machine is named
    return list;
  }();
  return all;
}

const std::vector<document::Section>& sections() {
  static const std::vector<document::Section> all = [] {
    std::vector<document::Section> list{check::check_section(), caches::caches_section(),
                                        caches::sweeps_section()};
    for (auto&& section : matmul::product_sections())
      list.push_back(section);
    list.push_back(report::programs_section());
    list.push_back(sweep::program_section());
    list.push_back(compare::compare_section(inferred_caches));
    list.push_back(sweep::values_section());
    return list;
  }();
  return all;
}

} // namespace recount::cli
