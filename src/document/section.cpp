// Results by machine, and the pictures of a report.
#include "document/section.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace recount::document {
namespace {

std::string machine_of_run(const result::Run& run) {
  return run.cpu + " on " + run.host;
}

} // namespace

std::shared_ptr<const result::Results> unowned(const result::Results& results) {
  return {std::shared_ptr<void>(), &results};
}

std::vector<Part> by_machine(const result::Results& results) {
  const auto same = [&](const result::Run& run) {
    return machine_of_run(run) == machine_of_run(results.runs.front()) &&
           run.versions.contains("published") == results.runs.front().versions.contains("published");
  };
  if (!results.runs.empty() && std::ranges::all_of(results.runs, same))
    return {{machine_of_run(results.runs.front()), results.runs.front().versions.contains("published"),
             unowned(results)}};
  std::vector<std::pair<Part, std::shared_ptr<result::Results>>> made;
  std::map<std::string, result::Results*> of_run;
  for (const auto& run : results.runs) {
    const std::string machine = machine_of_run(run);
    const bool published = run.versions.contains("published");
    auto at = std::ranges::find_if(made, [&](const auto& one) {
      return one.first.machine == machine && one.first.published == published;
    });
    if (at == made.end()) {
      auto own = std::make_shared<result::Results>();
      own->statistic = results.statistic;
      made.push_back({{machine, published, own}, own});
      at = made.end() - 1;
    }
    at->second->runs.push_back(run);
    of_run[run.id] = at->second.get();
  }
  for (const auto& observation : results.observations)
    if (const auto at = of_run.find(observation.run); at != of_run.end())
      at->second->observations.push_back(observation);
  for (const auto& failure : results.failures)
    if (const auto at = of_run.find(failure.run); at != of_run.end()) at->second->failures.push_back(failure);
  std::vector<Part> parts;
  for (auto& [part, own] : made)
    parts.push_back(std::move(part));
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

std::optional<Picture> Gallery::add(const std::string& figure, const Part& part) {
  const auto& entry = plot::find(figures_, figure);
  std::optional<plot::Sheet> sheet;
  try {
    sheet = entry.compose(*part.results, {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return {};
  }
  const auto alike =
      std::ranges::count_if(wanted_, [&](const RequestedPicture& w) { return w.sheet.name == figure; });
  const std::string name = alike == 0 ? figure : fmt::format("{}-{}", figure, alike + 1);
  for (const auto& warning : sheet->warnings)
    if (std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(warning);
  Picture picture{name, plot::caption_text(entry.entry, *sheet)};
  if (!sheet->caption_is_key) sheet->caption.clear(); // it is under the picture
  wanted_.push_back({name, std::move(*sheet)});
  return picture;
}

} // namespace recount::document
