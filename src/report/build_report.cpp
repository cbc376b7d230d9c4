#include "report/build_report.hpp"

#include "document/document.hpp"
#include "result/results_file.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace recount::report {
namespace {

/// Whether cache misses were counted, and by which witnesses, or modelled.
std::string source_of_misses(const result::Results& results) {
  std::set<Witness> counted;
  bool modelled = false;
  for (const auto& o : results.observations) {
    if (o.value.index() == 0 || (!o.metric.starts_with("PAPI_L1") && !o.metric.starts_with("PAPI_L2")))
      continue;
    modelled = modelled || o.witness.modelled();
    if (!o.witness.modelled() && o.witness != Witness::published) counted.insert(o.witness);
  }
  if (!counted.empty()) return fmt::format("Cache misses were counted by {}.", fmt::join(counted, " and "));
  return modelled ? "Cache misses were not counted here; those in this report are modelled." : "";
}

/// The summaries of all sections, by machine, each followed by the source of its cache misses.
std::vector<std::string> summary(const std::vector<document::Part>& parts,
                                 const std::vector<document::Section>& sections) {
  std::vector<std::string> all;
  const bool several = std::ranges::count(parts, false, &document::Part::published) > 1;
  for (const document::Part& part : parts) {
    if (part.published) continue;
    const std::string where = several ? part.machine + ": " : std::string();
    for (const document::Section& section : sections)
      if (section.summary)
        for (const std::string& text : section.summary(part))
          all.push_back(where + text);
    if (const std::string text = source_of_misses(*part.results); !text.empty()) all.push_back(where + text);
  }
  return all;
}

std::string title_of(const std::vector<document::Part>& parts, const std::vector<std::string>& subjects) {
  std::vector<std::string> machines;
  for (const document::Part& part : parts)
    if (!part.published) machines.push_back(part.machine);
  std::string title = subjects.empty() ? "counts" : fmt::format("{}", fmt::join(subjects, " and "));
  if (machines.empty()) return "Published " + title;
  if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return fmt::format("{} of {}", title,
                     machines.size() > 2 ? fmt::format("{} machines", machines.size())
                                         : fmt::format("{}", fmt::join(machines, " and ")));
}

} // namespace

Report build_report(const result::Results& results, const Origin& origin, const Tables& tables) {
  document::Gallery gallery(tables.figures);
  const document::Material material{results, document::by_machine(results), origin.machine, gallery};
  std::vector<document::Block> body, appendix;
  std::vector<std::string> subjects; // of the sections that are not empty
  for (const document::Section& section : tables.sections) {
    auto blocks = section.write(material);
    if (!blocks.empty() && !section.subject.empty() &&
        std::ranges::find(subjects, section.subject) == subjects.end())
      subjects.push_back(section.subject);
    document::append(section.appendix ? appendix : body, std::move(blocks));
  }
  mark_tables(body, material.parts);
  mark_tables(appendix, material.parts);
  auto verdicts = verdicts_section(material.parts);
  if (body.empty() && verdicts.empty())
    throw bad_input(fmt::format("{}", fmt::join(origin.files, ", ")), "no data for a table or a figure",
                    "recount matmul -o FILE, recount caches -o FILE or recount sweep -o FILE");
  Report report;
  auto& blocks = report.document.blocks;
  report.document.title = title_of(material.parts, subjects);
  report.document.subtitle =
      fmt::format("Written by recount {} from {}", origin.version, fmt::join(origin.files, ", "));
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  if (auto lines = summary(material.parts, tables.sections); !lines.empty()) {
    blocks.emplace_back(document::Heading{"Summary", 1});
    blocks.emplace_back(document::List{std::move(lines)});
  }
  document::append(blocks, machines_section(material.parts));
  document::append(blocks, method_section(results, tables.sections, !appendix.empty()));
  document::append(blocks, std::move(verdicts));
  document::append(blocks, std::move(body));
  document::append(blocks, warnings_section(results, gallery.warnings()));
  document::append(blocks, std::move(appendix));
  report.pictures = gallery.wanted();
  return report;
}

} // namespace recount::report
