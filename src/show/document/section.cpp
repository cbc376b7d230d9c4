// Results by machine, and the pictures of a report.
#include "show/document/section.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace recount::document {

std::shared_ptr<const result::Results> unowned(const result::Results& results) {
  return {std::shared_ptr<void>(), &results};
}

std::vector<Part> by_machine(const result::Results& results) {
  std::vector<Part> parts;
  std::map<std::string, std::size_t> part_of_run;
  std::map<std::pair<std::string, bool>, std::size_t> part_of_machine;
  for (const auto& run : results.runs) {
    const std::pair machine(run.cpu + " on " + run.host, run.versions.contains("published"));
    const auto [at, fresh] = part_of_machine.try_emplace(machine, parts.size());
    part_of_run[run.id] = at->second;
    if (fresh) parts.push_back({machine.first, machine.second, unowned(results)});
  }
  if (parts.size() < 2) return parts; // not copied
  std::vector<std::shared_ptr<result::Results>> own(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].results = own[i] = std::make_shared<result::Results>();
    own[i]->statistic = results.statistic;
  }
  for (const auto& run : results.runs)
    own[part_of_run[run.id]]->runs.push_back(run);
  for (const auto& observation : results.observations)
    if (const auto at = part_of_run.find(observation.run); at != part_of_run.end())
      own[at->second]->observations.push_back(observation);
  for (const auto& failure : results.failures)
    if (const auto at = part_of_run.find(failure.run); at != part_of_run.end())
      own[at->second]->failures.push_back(failure);
  return parts;
}

Part only(const Part& part, const std::function<bool(const result::Observation&)>& wanted) {
  if (std::ranges::all_of(part.results->observations, wanted)) return part; // not copied
  auto own = std::make_shared<result::Results>();
  own->runs = part.results->runs;
  own->statistic = part.results->statistic;
  std::ranges::copy_if(part.results->observations, std::back_inserter(own->observations), wanted);
  return {part.machine, part.published, own};
}

void Gallery::add(std::vector<Block>& blocks, const std::string& figure, const Part& part) {
  const auto& entry = plot::find(figures_, figure);
  std::optional<plot::Sheet> sheet;
  try {
    sheet = entry.compose(*part.results, {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return;
  }
  const auto alike =
      std::ranges::count_if(wanted_, [&](const RequestedPicture& w) { return w.sheet.name == figure; });
  const std::string name = alike == 0 ? figure : fmt::format("{}-{}", figure, alike + 1);
  for (const auto& warning : sheet->warnings) // the caption has some
    if (std::ranges::find(warnings_, warning) == warnings_.end() &&
        std::ranges::find(sheet->caption, warning) == sheet->caption.end())
      warnings_.push_back(warning);
  blocks.emplace_back(Picture{name, plot::caption_text(entry.entry, *sheet)});
  if (!sheet->caption_is_key) sheet->caption.clear(); // it is under the picture
  wanted_.push_back({name, std::move(*sheet)});
}

} // namespace recount::document
