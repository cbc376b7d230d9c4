// The report of the laboratory: answers first, then the sections in the order of the assignment.
#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "commands/laboratory/laboratory.hpp"
#include "run/result/curves.hpp"
#include "show/command/output.hpp"
#include "show/plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace recount::laboratory {
namespace {

bool is_miss(const std::string& metric) {
  return metric == "PAPI_L1_DCM" || metric == "PAPI_L2_DCM";
}

std::string machine_text(const result::Results& results) {
  return results.runs.empty() ? "this machine" : plot::machine_name(results.runs.front());
}

const char* times_text(const result::Results& results) {
  return !results.runs.empty() && host::is_emulated(results.runs.front().cpu)
             ? "times and cycles are those of the emulated machine, not of a real one"
             : "times are measured";
}

/// "Table 3", "Figure 1": by the captions of tables and the names of pictures.
std::map<std::string, std::string> places(const std::vector<document::Block>& blocks, std::size_t tables) {
  std::map<std::string, std::string> all;
  std::size_t pictures = 0;
  for (const document::Block& block : blocks)
    if (const auto* const table = std::get_if<show::Table>(&block))
      all.try_emplace(table->caption, fmt::format("Table {}", ++tables));
    else if (const auto* const picture = std::get_if<document::Picture>(&block))
      all.try_emplace(picture->name, fmt::format("Figure {}", ++pictures));
  return all;
}

std::string value_of(const document::Answer& answer) {
  return answer.value.empty() ? "not answered: " + answer.reason : answer.value;
}

show::Table answers_table(const std::vector<document::Answer>& answers,
                          const std::map<std::string, std::string>& places) {
  show::Table table({{"question"}, {"answer"}, {"shown in"}, {"confidence"}}, "Answers");
  for (const document::Answer& answer : answers) {
    const auto place = places.find(answer.proof);
    table.add(
        {answer.question, value_of(answer), place == places.end() ? "" : place->second, answer.confidence});
  }
  return table;
}

} // namespace

CountedTwice compare_twice(const result::Results& results) {
  using Key = std::tuple<std::string, result::Params, std::string>;
  struct Counts {
    std::vector<double> perf, papi;
    double accesses = 0;
  };
  std::map<Key, Counts> all;
  for (const auto& o : results.observations)
    if (const auto value = result::value(o);
        value && (o.witness == Witness::perf || o.witness == Witness::papi)) {
      Counts& counts = all[{o.kernel, o.params, o.metric}];
      (o.witness == Witness::perf ? counts.perf : counts.papi).push_back(*value);
      counts.accesses = static_cast<double>(o.accesses.value_or(0));
    }
  CountedTwice twice;
  for (const auto& [key, counts] : all) {
    if (counts.perf.empty() || counts.papi.empty()) continue;
    const double a = statistics::median(counts.perf), b = statistics::median(counts.papi);
    const double whole = std::max({a, b, counts.accesses, 1.0});
    ++twice.values;
    twice.largest = std::max(twice.largest, std::abs(a - b) / whole);
  }
  return twice;
}

std::string source_of_misses(const result::Results& results) {
  std::set<std::string> counted;
  for (const auto& o : results.observations)
    if (is_miss(o.metric) && !o.witness.modelled() && o.value.index() != 0) counted.insert(o.witness.name());
  if (counted.empty())
    return "misses are modelled for the caches that the system states: nothing counts them here";
  std::string text = fmt::format("misses are counted by {}", fmt::join(counted, " and "));
  if (const CountedTwice twice = compare_twice(results); twice.values > 0)
    text += fmt::format(" ({} counted twice; largest difference {})",
                        base::format_count(twice.values, "value"), base::format_share(twice.largest));
  return text;
}

std::vector<document::Answer> collect_answers(const result::Results& results,
                                              const std::vector<document::Section>& sections) {
  std::vector<document::Answer> all;
  for (const document::Part& part : document::by_machine(results))
    for (const document::Section& section : sections)
      if (section.answers && !part.published)
        std::ranges::move(section.answers(part), std::back_inserter(all));
  return all;
}

Paper write_paper(const result::Results& results, const Features& features,
                  const std::vector<std::string>& files) {
  document::Gallery gallery(features.figures());
  const document::Material material{results, document::by_machine(results), {}, gallery};
  std::vector<document::Block> body;
  for (const document::Section& section : features.sections)
    document::append(body, section.write(material));
  Paper paper;
  auto& blocks = paper.document.blocks;
  paper.document.title = "Laboratory: caches and matrix products of " + machine_text(results);
  std::string source = source_of_misses(results);
  source.front() = 'M';
  blocks.emplace_back(document::Paragraph{fmt::format("{}; {}.", source, times_text(results))});
  for (const auto& study : result::incomplete(results))
    blocks.emplace_back(document::Paragraph{result::describe(study)});
  blocks.emplace_back(document::Heading{"Answers", 1});
  blocks.emplace_back(answers_table(collect_answers(results, features.sections), places(body, 1)));
  document::append(blocks, std::move(body));
  blocks.emplace_back(document::Paragraph{
      fmt::format("All values, with their repetitions, are in the files beside this report: {}.",
                  fmt::join(files, ", "))});
  paper.pictures = gallery.wanted();
  return paper;
}

std::string answers_screen(const result::Results& results, const std::vector<document::Answer>& answers,
                           std::size_t columns) {
  constexpr std::size_t longest = 60, lines = 23; // with the path of the report
  show::Table table({{"question"}, {"answer"}, {"confidence", show::Role::words, 1}});
  std::string rest;
  for (const document::Answer& answer : answers)
    if (const std::string value = value_of(answer); value.size() <= longest)
      table.add({answer.question, value, answer.confidence.substr(0, answer.confidence.find(','))});
    else if (&answer == &answers.back())
      rest = command::wrap(value, columns, 2) + "\n";
  const std::string text =
      command::wrap(machine_text(results) + "; " + source_of_misses(results), columns, 2) + "\n" +
      command::table_text(table, stdout, columns);
  return static_cast<std::size_t>(std::ranges::count(text + rest, '\n')) <= lines ? text + rest : text;
}

} // namespace recount::laboratory
