#include "report/build_report.hpp"
#include "result/completeness.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace recount::report {
namespace {

/// The source of the numbers of cache misses: counters or the model.
std::string misses_summary(const result::Results& results) {
  std::set<std::string> counted, modelled;
  for (const auto& o : results.observations) {
    if (o.value.index() == 0 || (!o.metric.starts_with("PAPI_L1") && !o.metric.starts_with("PAPI_L2")))
      continue;
    if (o.witness.starts_with("model"))
      modelled.insert(o.witness.substr(0, o.witness.find('~')));
    else if (o.witness != "published")
      counted.insert(o.witness);
  }
  if (!counted.empty()) return fmt::format("Cache misses were counted by {}.", fmt::join(counted, " and "));
  if (modelled.empty()) return {};
  return "Cache misses were not counted here; those in this report are modelled and marked as such.";
}

/// Sentences on each machine, and the source of its numbers of misses.
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
    if (const std::string text = misses_summary(*part.results); !text.empty()) all.push_back(where + text);
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

/// The sections in the order of the table, those at the end apart; the subjects of those that have any text.
struct Body {
  std::vector<document::Block> sections, appendix;
  std::vector<std::string> subjects;
};
Body write(const std::vector<document::Section>& sections, const document::Material& material) {
  Body body;
  for (const document::Section& section : sections) {
    auto blocks = section.write(material);
    if (!blocks.empty() && !section.subject.empty() &&
        std::ranges::find(body.subjects, section.subject) == body.subjects.end())
      body.subjects.push_back(section.subject);
    document::append(section.appendix ? body.appendix : body.sections, std::move(blocks));
  }
  return body;
}

} // namespace

Report build_report(const result::Results& results, const Origin& origin, const Tables& tables) {
  document::Gallery gallery(tables.figures);
  const document::Material material{results, document::by_machine(results), origin.machine, gallery};
  Body body = write(tables.sections, material);
  mark_tables(body.sections, material.parts);
  mark_tables(body.appendix, material.parts);
  auto verdicts = verdicts_section(material.parts);
  if (body.sections.empty() && verdicts.empty())
    throw bad_input(fmt::format("{}", fmt::join(origin.files, ", ")), "no data for a table or a figure",
                    "recount matmul -o FILE, recount caches -o FILE or recount sweep -o FILE");
  Report report;
  auto& blocks = report.document.blocks;
  report.document.title = title_of(material.parts, body.subjects);
  report.document.subtitle =
      fmt::format("Written by recount {} from {}", origin.version, fmt::join(origin.files, ", "));
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  if (auto lines = summary(material.parts, tables.sections); !lines.empty()) {
    blocks.emplace_back(document::Heading{"Summary", 1});
    blocks.emplace_back(document::List{std::move(lines)});
  }
  document::append(blocks, machines_section(material.parts));
  document::append(blocks, method_section(results, tables.sections, !body.appendix.empty()));
  document::append(blocks, std::move(verdicts));
  document::append(blocks, std::move(body.sections));
  document::append(blocks, warnings_section(results, gallery.warnings()));
  document::append(blocks, std::move(body.appendix));
  report.pictures = gallery.wanted();
  return report;
}

} // namespace recount::report
