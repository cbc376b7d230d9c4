#include "report/build_report.hpp"

#include "document/document.hpp"
#include "result/results_file.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace recount::report {
namespace {

constexpr const char* answers_caption = "Questions and answers";

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

/// The number of a table as the formats count them, by caption.
std::multimap<std::string, std::size_t> table_numbers(const std::vector<document::Block>& blocks) {
  std::multimap<std::string, std::size_t> numbers;
  for (const document::Block& block : blocks)
    if (const auto* const table = std::get_if<document::Table>(&block))
      numbers.emplace(table->caption, numbers.size() + 1);
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

std::vector<document::Answer> answers_of(const document::Part& part,
                                         const std::vector<document::Section>& sections) {
  std::vector<document::Answer> all;
  if (!part.published)
    for (const document::Section& section : sections)
      if (section.answers)
        for (auto& answer : section.answers(part))
          all.push_back(std::move(answer));
  return all;
}

std::string answer_text(const document::Answer& answer) {
  if (answer.value.empty()) return "not answerable here: " + answer.reason;
  return answer.reason.empty() ? answer.value : answer.value + ". Not answered: " + answer.reason;
}

/// The questions of the assignments with their answers, a table for each machine. The tables that prove them
/// are numbered when all are there.
struct Answers {
  std::vector<document::Block> blocks;
  std::vector<std::vector<document::Answer>> by_table;
};

Answers answers_section(const std::vector<document::Part>& parts,
                        const std::vector<document::Section>& sections) {
  Answers answers;
  for (const document::Part& part : parts) {
    auto all = answers_of(part, sections);
    if (all.empty()) continue;
    document::Table table{
        fmt::format("{}: {}", answers_caption, part.machine),
        {{"question", false}, {"answer", false}, {"shown in", false}, {"confidence", false}},
        {},
        {}};
    for (const auto& answer : all)
      table.rows.push_back(
          {answer.question, answer_text(answer), "", answer.confidence.empty() ? "-" : answer.confidence});
    answers.blocks.emplace_back(std::move(table));
    answers.by_table.push_back(std::move(all));
  }
  if (!answers.blocks.empty())
    answers.blocks.emplace_back(document::Paragraph{
        "Confidence: high, of at least 3 undisturbed repetitions or of two ways that agree; medium, of "
        "disturbed repetitions or of one way; low, of fewer repetitions or an estimate; modelled, computed "
        "for the stated or described machine and not measured; computed, from sizes alone; by the method, "
        "from "
        "how caches work."});
  answers.blocks = document::under("Answers", std::move(answers.blocks));
  return answers;
}

/// Fills in the tables that prove the answers.
void number_proofs(std::vector<document::Block>& blocks, const Answers& answers) {
  const auto numbers = table_numbers(blocks);
  auto table_answers = answers.by_table.begin();
  for (document::Block& block : blocks) {
    auto* const table = std::get_if<document::Table>(&block);
    if (!table || !table->caption.starts_with(answers_caption)) continue;
    if (table_answers == answers.by_table.end()) break; // a caption that results chose
    for (std::size_t i = 0; i < table->rows.size(); ++i)
      table->rows[i][2] = proof_text(table_answers->at(i), numbers);
    ++table_answers;
  }
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
  Answers answers = answers_section(material.parts, tables.sections);
  document::append(blocks, std::move(answers.blocks));
  document::append(blocks, machines_section(material.parts));
  document::append(blocks, method_section(results, tables.sections, !appendix.empty()));
  document::append(blocks, std::move(verdicts));
  document::append(blocks, std::move(body));
  document::append(blocks, warnings_section(results, gallery.warnings()));
  document::append(blocks, std::move(appendix));
  number_proofs(blocks, answers);
  report.pictures = gallery.wanted();
  return report;
}

} // namespace recount::report
