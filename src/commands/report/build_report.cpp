#include "commands/report/build_report.hpp"

#include "run/result/results_file.hpp"
#include "show/document/document.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

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

/// The numbers of tables as the formats count them, from `first` on, by caption.
std::multimap<std::string, std::size_t> table_numbers(const std::vector<document::Block>& blocks,
                                                      std::size_t first) {
  std::multimap<std::string, std::size_t> numbers;
  for (const document::Block& block : blocks)
    if (const auto* const table = std::get_if<show::Table>(&block))
      numbers.emplace(table->caption, numbers.size() + first);
  return numbers;
}

std::string proof_text(const document::Answer& answer,
                       const std::multimap<std::string, std::size_t>& numbers) {
  std::vector<std::string> tables;
  const auto [first, last] = numbers.equal_range(answer.proof);
  for (auto at = first; at != last; ++at)
    tables.push_back(std::to_string(at->second));
  if (tables.empty()) return "-";
  return fmt::format("{} {}: {}", tables.size() > 1 ? "one of Tables" : "Table", fmt::join(tables, ", "),
                     answer.cells);
}

std::string answer_text(const document::Answer& answer) {
  if (answer.value.empty()) return "not answerable here: " + answer.reason;
  return answer.reason.empty() ? answer.value : answer.value + ". Not answered: " + answer.reason;
}

/// The questions of the assignments with their answers, a table for each machine, followed by the tables of
/// `rest` that prove them.
std::vector<document::Block> answers_section(const std::vector<document::Part>& parts,
                                             const std::vector<document::Section>& sections,
                                             const std::vector<document::Block>& rest) {
  std::vector<std::pair<std::string, std::vector<document::Answer>>> machines;
  for (const document::Part& part : parts) {
    std::vector<document::Answer> all;
    for (const document::Section& section : sections)
      if (section.answers && !part.published)
        std::ranges::move(section.answers(part), std::back_inserter(all));
    if (!all.empty()) machines.emplace_back(part.machine, std::move(all));
  }
  std::vector<document::Block> blocks;
  if (machines.empty()) return blocks;
  const auto numbers = table_numbers(rest, machines.size() + 1);
  for (const auto& [machine, answers] : machines) {
    show::Table table({{"question"}, {"answer"}, {"shown in"}, {"confidence"}},
                      "Questions and answers: " + machine);
    for (const auto& answer : answers)
      table.rows.push_back({answer.question, answer_text(answer), proof_text(answer, numbers),
                            answer.confidence.empty() ? "-" : answer.confidence});
    blocks.emplace_back(std::move(table));
  }
  blocks.emplace_back(document::Paragraph{
      "Confidence: high, of at least 3 undisturbed repetitions or of two ways that agree; medium, of "
      "disturbed repetitions or of one way; low, of fewer repetitions or an estimate; modelled, computed "
      "for the stated or described machine and not measured; computed, from sizes alone; by the method, from "
      "how caches work."});
  return document::under("Answers", std::move(blocks));
}

/// That of the values: the machine of the run, or the described one where nothing else was modelled or
/// measured.
std::string title_machine(const document::Part& part) {
  std::set<std::string> described;
  for (const auto& o : part.results->observations) {
    if (o.value.index() == 0) continue;
    const auto machine = o.witness.described_machine();
    if (!machine) return part.machine;
    described.insert(machine->substr(0, machine->find('~')));
  }
  return described.empty() ? part.machine : fmt::format("{} (modelled)", fmt::join(described, ", "));
}

std::string make_title(const std::vector<document::Part>& parts, const std::vector<std::string>& subjects) {
  std::vector<std::string> machines;
  for (const document::Part& part : parts)
    if (!part.published) machines.push_back(title_machine(part));
  std::string title = subjects.empty() ? "counts" : fmt::format("{}", fmt::join(subjects, ", "));
  if (subjects.size() > 1) title.replace(title.rfind(", "), 2, " and ");
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
  if (body.empty())
    throw bad_input(fmt::format("{}", fmt::join(origin.files, ", ")), "no data for a table or a figure",
                    "recount matmul -o FILE, recount caches -o FILE or recount sweep -o FILE");
  Report report;
  auto& blocks = report.document.blocks;
  report.document.title = make_title(material.parts, subjects);
  report.document.subtitle =
      fmt::format("Written by recount {} from {}", origin.version, fmt::join(origin.files, ", "));
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  if (auto lines = summary(material.parts, tables.sections); !lines.empty()) {
    blocks.emplace_back(document::Heading{"Summary", 1});
    blocks.emplace_back(document::List{std::move(lines)});
  }
  std::vector<document::Block> rest = machines_section(material.parts);
  document::append(rest, method_section(results, tables.sections, !appendix.empty()));
  document::append(rest, std::move(body));
  document::append(rest, warnings_section(results, gallery.warnings()));
  document::append(rest, std::move(appendix));
  document::append(blocks, answers_section(material.parts, tables.sections, rest));
  document::append(blocks, std::move(rest));
  report.pictures = gallery.wanted();
  return report;
}

} // namespace recount::report
