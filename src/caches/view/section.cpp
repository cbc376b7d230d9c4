// The caches found from recorded readings, with the argument, compared with what is stated.
#include "base/format.hpp"
#include "base/names.hpp"
#include "caches/infer/findings.hpp"
#include "caches/infer/record.hpp"
#include "caches/view/panels.hpp"
#include "model/machine.hpp"
#include "plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::caches {
namespace {

/// The findings of one record. A description of a machine that recount does not ship is not opened, whatever
/// the results call it: then nothing is stated.
CachesFindings found_in(const result::Results& results, result::Run run, const std::string& machine) {
  std::string& witness = run.plan["witness"];
  if (const auto machine = described_machine(witness); machine && !model::shipped_machine(*machine)) {
    witness = "model";
    run.caches.clear();
    run.plan["stated_by"] = "nobody";
  }
  return findings_on_record(results, run, machine);
}

std::string witness_text(const Caches& found) {
  return base::format_witness(found.witness);
}

document::Table findings_table(const CachesFindings& found) {
  document::Table table{
      fmt::format("Caches found from {}, {}, compared with {}",
                  base::format_count(found.found.readings, "reading"), witness_text(found.found),
                  found.stated.source),
      {{"level", false}, {"property", false}, {"found"}, {"stated"}, {"", false}, {"confidence", false}},
      {}};
  const auto rows = [&](std::string level, std::initializer_list<const Property*> properties) {
    for (const Property* p : properties) {
      if (!p->value && p->unknown.empty()) continue;
      table.rows.push_back({level, p->name, value_text(*p), stated_text(*p),
                            p->agreement == StatedMatch::not_stated ? "" : to_string(p->agreement),
                            p->value ? to_string(p->confidence) : ""});
      level.clear();
    }
  };
  for (const auto& level : found.found.levels)
    rows(level_text(level), {&level.capacity, &level.line, &level.ways, &level.latency, &level.penalty});
  for (const auto& tlb : found.found.tlbs)
    rows(tlb.name, {&tlb.entries, &tlb.cost});
  if (found.found.memory.value || found.found.disturbed > 0) rows("memory", {&found.found.memory});
  for (const auto& level : found.found.levels)
    if (!level.shared_use.empty())
      table.notes.push_back(fmt::format("{}: {}.", level_text(level), shared_use_text(level)));
  if (found.found.disturbed > 0)
    table.notes.push_back(plot::disturbed_text(found.found.disturbed, found.found.rounds) + ".");
  return table;
}

/// Whether the stated caches are those that were simulated.
bool by_the_model(const CachesFindings& found) {
  const std::string& witness = found.found.witness;
  const auto machine = described_machine(witness);
  return !machine || found.stated.source == "machine " + *machine;
}

/// Every difference once, or that there is none.
document::Paragraph comparison_text(const CachesFindings& found) {
  std::vector<std::string> differences;
  std::size_t agree = 0;
  for (const auto& level : found.found.levels)
    for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
      if (p->agreement == StatedMatch::agrees) ++agree;
      if (p->agreement == StatedMatch::differs)
        differences.push_back(fmt::format("{} {}: found {}, stated {}: {}", level.name, p->name,
                                          value_text(*p), stated_text(*p), p->remark));
    }
  if (found.found.modelled && agree > 0 && by_the_model(found))
    return {fmt::format("The model simulates the stated caches ({}): that {} with them tests the "
                        "inference, and cannot contradict the statement.",
                        found.stated.source,
                        base::format_count(agree, "property agrees", "properties agree")) +
            (differences.empty() ? "" : fmt::format(" Different: {}.", fmt::join(differences, ". ")))};
  std::string text = fmt::format("Compared with the specification ({}): {}", found.stated.source,
                                 base::format_count(agree, "property agrees", "properties agree"));
  text += differences.empty()
              ? ", none differs."
              : fmt::format(", {}. {}.", base::format_count(differences.size(), "differs", "differ"),
                            fmt::join(differences, ". "));
  return {text};
}

/// The part of one run.
document::Part of_run(const document::Part& part, const result::Run& run) {
  auto own = std::make_shared<result::Results>();
  own->runs = {run};
  own->statistic = part.results->statistic;
  std::ranges::copy_if(part.results->observations, std::back_inserter(own->observations),
                       [&](const auto& o) { return o.run == run.id; });
  return {part.machine, part.published, own};
}

void add_findings(std::vector<document::Block>& blocks, const CachesFindings& found,
                  std::vector<document::Block> figures) {
  blocks.emplace_back(findings_table(found));
  blocks.emplace_back(comparison_text(found));
  document::append(blocks, std::move(figures));
  for (const auto& argument : justification(found.found)) { // the grid has a section of its own
    blocks.emplace_back(document::Heading{argument.title, 2});
    blocks.emplace_back(document::Paragraph{argument.text});
  }
  if (found.found.method.empty()) return;
  blocks.emplace_back(document::Heading{"Method", 2});
  blocks.emplace_back(document::List{found.found.method});
}

std::vector<document::Block> write_caches(const document::Material& material) {
  if (!material.machine.empty()) static_cast<void>(model::machine(material.machine));
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    for (const auto& run : part.results->runs) {
      if (!result::is_inference(run)) continue;
      const document::Part own = of_run(part, run);
      std::vector<document::Block> figures;
      for (const char* figure : {"caches-latency", "caches-ways", "caches-line"})
        if (auto picture = material.gallery.add(figure, own)) figures.emplace_back(std::move(*picture));
      add_findings(blocks, found_in(*part.results, run, material.machine), std::move(figures));
    }
  }
  return document::under("Caches", std::move(blocks));
}

std::vector<std::string> findings_summary(const document::Part& part) {
  std::vector<std::string> lines;
  for (const auto& run : part.results->runs) {
    if (!result::is_inference(run)) continue;
    const CachesFindings found = found_in(*part.results, run, {});
    for (const auto& line : summary_lines(found.found))
      lines.push_back(fmt::format("{} ({})", line, witness_text(found.found)));
    lines.push_back(comparison_text(found).text);
  }
  return lines;
}

} // namespace

document::Section caches_section() {
  return {"caches", write_caches, findings_summary};
}

} // namespace recount::caches
