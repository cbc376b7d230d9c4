#include "base/format.hpp"
#include "base/names.hpp"
#include "commands/sweep/sweep_table.hpp"
#include "run/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

// What a sweep of the user's program establishes, and its section of a report.
namespace recount::sweep {
namespace {

/// Of one metric: the points where PAPI counts clearly more or less than perf.
struct Contrast {
  std::size_t points = 0, clear = 0;
  double most = 0; ///< difference relative to perf, the largest
  result::Params where;
  std::string why;
};

std::map<std::string, Contrast> compare_witnesses(const std::vector<SweepGroup>& groups) {
  std::map<std::pair<std::string, result::Params>, const SweepGroup*> perf;
  for (const SweepGroup& group : groups)
    if (group.witness == Witness::perf && group.summary) perf[{group.metric, group.params}] = &group;
  std::map<std::string, Contrast> all;
  for (const SweepGroup& group : groups) {
    const auto twin = perf.find({group.metric, group.params});
    if (group.witness != Witness::papi || !group.summary || twin == perf.end()) continue;
    Contrast& contrast = all[group.metric];
    ++contrast.points;
    const double base = twin->second->summary->median;
    if (base <= 0 || statistics::evidence(twin->second->values, group.values) != statistics::Evidence::clear)
      continue;
    ++contrast.clear;
    const double relative = group.summary->median / base - 1;
    if (std::abs(relative) <= std::abs(contrast.most)) continue;
    contrast.most = relative;
    contrast.where = group.params;
    contrast.why = twin->second->difference;
  }
  return all;
}

/// Speed-ups of a setting of all parameters that do not number the points.
std::map<std::string, std::vector<const SweepGroup*>> group_speed_ups(const std::vector<SweepGroup>& groups) {
  std::map<std::string, std::vector<const SweepGroup*>> all;
  const auto names = varying(groups);
  for (const SweepGroup& group : groups) {
    if (group.metric != speed_up || !group.summary) continue;
    std::string words;
    for (const auto& name : names)
      if (const std::string word = result::word(group.params, name); !word.empty())
        words += (words.empty() ? "" : " ") + fmt::format("{}={}", name, word);
    all[words].push_back(&group);
  }
  return all;
}

bool of_program(const result::Observation& o) {
  return o.kernel == program_kernel;
}

std::vector<document::Block> write_program(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    const document::Part own = document::only(part, of_program);
    if (own.results->observations.empty()) continue;
    std::set<std::string> commands;
    for (const auto& run : own.results->runs)
      if (const auto command = run.plan.find("command"); command != run.plan.end())
        commands.insert(command->second);
    for (const std::string& command : commands)
      blocks.emplace_back(document::Code{command});
    material.gallery.add(blocks, program_kernel, own);
    BatchResult all;
    all.results = with_speed_up(*own.results);
    show::Table table = sweep_summary(all, {});
    table.caption = "Program by parameter, " + std::string(statistics::name_of(all.results.statistic)) +
                    " of the repetitions";
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
    auto notes = program_notes(sweep_groups(all.results));
    if (!notes.empty()) blocks.emplace_back(document::List{std::move(notes)});
  }
  return document::under("Sweeps of programs", std::move(blocks));
}

} // namespace

std::vector<std::string> program_notes(const std::vector<SweepGroup>& groups) {
  std::vector<std::string> notes;
  for (const auto& [metric, contrast] : compare_witnesses(groups))
    if (contrast.clear > 0)
      notes.push_back(fmt::format(
          "{}: PAPI counts {:.3g} % {} than perf ({}), at {} of {} clearly more or less: {}", metric,
          100 * std::abs(contrast.most), contrast.most < 0 ? "less" : "more",
          result::describe(contrast.where), contrast.clear, base::format_count(contrast.points, "point"),
          contrast.why.empty() ? "separate executions; no cause is known" : contrast.why));
  for (const auto& [words, all] : group_speed_ups(groups)) {
    const auto [least, most] =
        std::ranges::minmax_element(all, {}, [](const SweepGroup* group) { return group->summary->median; });
    const auto repeated = [](const SweepGroup* group) { return group->values.size() > 2; };
    const auto established = std::ranges::count_if(
        all, [&](const SweepGroup* group) { return repeated(group) && group->summary->low > 1; });
    notes.push_back(fmt::format("speed-up{}{}: {:.3g} to {:.3g}; {}", words.empty() ? "" : " of ", words,
                                (*least)->summary->median, (*most)->summary->median,
                                !std::ranges::any_of(all, repeated)
                                    ? "too few repetitions for an interval"
                                    : fmt::format("its interval is above 1 at {} of {}", established,
                                                  base::format_count(all.size(), "point"))));
  }
  return notes;
}

document::Section program_section() {
  return {"programs over parameters", write_program};
}

} // namespace recount::sweep
