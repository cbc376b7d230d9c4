// Call chains and annotated source of a profile.
#include "base/characters.hpp"
#include "base/format.hpp"
#include "command/output.hpp"
#include "profile/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace recount::profile {
using profile::Tally;

namespace {
std::string share_cell(const Profile& p, const Tally& tally, std::size_t e) {
  return share_text(profile::share_of(tally, p.recording.places, e, every_occurrence(p, e)), tally.samples);
}

/// The functions of a chain, innermost first.
std::vector<std::string> names_of_chain(const Profile& p, std::size_t chain) {
  const auto& chains = p.recording.places.chains();
  std::vector<std::string> names;
  for (; chain != 0; chain = chains[chain].caller) {
    const auto& at = p.naming.places[chains[chain].place];
    for (const auto& frame : at.frames)
      names.push_back(at.name_of(frame) + (frame.inlined ? " (inlined)" : ""));
  }
  return names;
}

/// A row for each line, and one for each gap between them.
command::Table table_of(const Profile& p, const profile::Annotation& part) {
  std::vector<command::Table::Column> columns;
  const auto shown = shown_events(p);
  for (const std::size_t e : shown)
    columns.push_back({p.recording.events[e].event.name, command::Table::Align::right});
  columns.push_back({"line", command::Table::Align::right});
  columns.push_back({"source"});
  const bool objects =
      std::ranges::any_of(part.lines, [](const auto& line) { return !line.objects.empty(); });
  if (objects) columns.push_back({"data"});
  command::Table table(columns);
  int last = 0;
  for (const auto& line : part.lines) {
    std::vector<std::string> row(shown.size());
    if (last != 0 && line.number != last + 1) {
      auto gap = row;
      gap.emplace_back("…");
      gap.resize(columns.size());
      table.add(gap);
    }
    last = line.number;
    for (std::size_t i = 0; i < shown.size() && !line.tallies.empty(); ++i)
      if (const Tally& its = line.tallies[shown[i]]; its.samples > 0) row[i] = share_cell(p, its, shown[i]);
    row.push_back(std::to_string(line.number));
    row.push_back(base::printable(line.text));
    if (objects) row.push_back(base::printable(line.objects));
    table.add(row);
  }
  return table;
}
} // namespace

std::string chains_table(const Profile& p, std::size_t top) {
  const auto& places = p.recording.places;
  std::map<std::vector<std::string>, Tally> sums;
  for (std::size_t i = 1; i < places.chains().size(); ++i) {
    const Tally& tally = places.chain_tally(i)[0];
    if (tally.samples == 0) continue;
    Tally& sum = sums[names_of_chain(p, i)];
    sum.samples += tally.samples;
    sum.weight += tally.weight;
  }
  std::vector<std::pair<const std::vector<std::string>*, Tally>> sorted;
  for (const auto& [names, tally] : sums)
    sorted.emplace_back(&names, tally);
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.weight > b.second.weight; });
  std::string text =
      fmt::format("call chains of {}, innermost function first\n", p.recording.events[0].event.name);
  for (std::size_t i = 0; i < std::min(top, sorted.size()); ++i) {
    text += fmt::format("{}, {}\n", share_cell(p, sorted[i].second, 0),
                        base::format_count(sorted[i].second.samples, "sample"));
    for (const auto& name : *sorted[i].first)
      text += "    " + command::shortened(base::printable(name), 100) + "\n";
  }
  if (sorted.size() > top)
    text += fmt::format("  … {} (--top)\n", base::format_count(sorted.size() - top, "more chain"));
  return text;
}

std::string annotated_text(const Profile& p, const std::string& function) {
  const auto parts = profile::annotate(p.recording.places, p.naming, function);
  if (parts.empty())
    return fmt::format("{}: no samples in a function of this name\n", base::printable(function));
  std::string text;
  for (const auto& part : parts)
    text += base::printable(part.file) + (part.trouble.empty() ? "" : ": " + part.trouble) + "\n" +
            table_of(p, part).text();
  return text;
}

} // namespace recount::profile
