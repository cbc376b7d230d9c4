// The caches found from recorded readings, with the argument, compared with what is stated.
#include "base/format.hpp"
#include "caches/infer/findings.hpp"
#include "caches/infer/record.hpp"
#include "caches/view/panels.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace recount::caches {
namespace {

/// The findings of one record. A description of a machine that recount does not ship is not opened, whatever
/// the results call it: then nothing is stated.
CachesFindings found_in(const result::Results& results, result::Run run, const std::string& machine) {
  std::string& witness = run.plan["witness"];
  if (witness.starts_with("model:") && !model::shipped_machine(witness.substr(6))) {
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
      fmt::format("Caches found from {} readings, {}, compared with {}", found.found.readings,
                  witness_text(found.found), found.stated.source),
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
    rows(level.name + (level.effective ? " (effective)" : ""),
         {&level.capacity, &level.line, &level.ways, &level.latency, &level.penalty});
  for (const auto& tlb : found.found.tlbs)
    rows(tlb.name, {&tlb.entries, &tlb.cost});
  if (found.found.memory.value) rows("memory", {&found.found.memory});
  return table;
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
  std::string text =
      fmt::format("Compared with the specification ({}): {} properties agree", found.stated.source, agree);
  text += differences.empty()
              ? ", none differs."
              : fmt::format(", {} differ. {}.", differences.size(), fmt::join(differences, ". "));
  return {text};
}

/// The readings of a record that make a curve of time against size: chases over adjacent lines, all
/// rounds of a size together.
document::Part dense_chases(const document::Part& part, const std::string& run) {
  auto own = std::make_shared<result::Results>();
  own->runs = part.results->runs;
  std::map<std::int64_t, int> rounds;
  const auto whole = [](const result::Observation& o, const char* name) {
    const auto found = o.params.find(name);
    const auto* number = found == o.params.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return number ? *number : std::int64_t{0};
  };
  constexpr std::int64_t side_by_side = 64;
  for (const auto& o : part.results->observations) {
    if (o.run != run || o.kernel != "chase" || whole(o, "stride") != side_by_side || o.metric != "seconds")
      continue;
    auto& kept = own->observations.emplace_back(o);
    kept.params = {{"size", whole(o, "size")}, {"stride", side_by_side}};
    kept.repetition = rounds[whole(o, "size")]++;
  }
  return {part.machine, part.published, own};
}

void add_findings(std::vector<document::Block>& blocks, const CachesFindings& found) {
  blocks.emplace_back(findings_table(found));
  blocks.emplace_back(comparison_text(found));
  for (const auto& argument : justification(found)) {
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
      add_findings(blocks, found_in(*part.results, run, material.machine));
      const document::Part readings = dense_chases(part, run.id);
      if (auto picture = material.gallery.add("working-set", readings))
        blocks.emplace_back(std::move(*picture));
    }
  }
  return document::under("Caches", std::move(blocks));
}

std::vector<document::Block> write_sweeps(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    if (part.published) continue;
    const auto recorded = [&](const std::string& id) {
      const auto run = std::ranges::find(part.results->runs, id, &result::Run::id);
      return run != part.results->runs.end() && result::is_inference(*run);
    };
    // Of the readings of recount caches only its grid is a sweep. A kernel at a time: each has parameters of
    // its own, and the parameter with more values is on the x axis.
    for (const char* kernel : {"chase", "stride"}) {
      std::set<result::ParamValue> strides;
      const document::Part sweep = document::only(part, [&](const auto& o) {
        return o.kernel == kernel && !(recorded(o.run) && result::is_reading(o));
      });
      for (const auto& o : sweep.results->observations) {
        if (const auto stride = o.params.find("stride"); stride != o.params.end())
          strides.insert(stride->second);
      }
      const bool by_size = strides.size() < 3;
      for (const char* figure :
           {by_size ? "working-set" : "access-time", by_size ? "working-set-misses" : "misses"})
        if (auto picture = material.gallery.add(figure, sweep)) blocks.emplace_back(std::move(*picture));
    }
  }
  if (blocks.empty()) return blocks;
  std::vector<document::Block> all;
  all.emplace_back(document::Paragraph{
      "When the working set exceeds the capacity of a level, the access time rises in a step. With the "
      "stride, misses rise up to the line size, from which each access touches its own line. "
      "They drop again once the remaining lines fit the ways of their sets. Prefetching "
      "hides part of this in a sequential walk, but not in a chain of dependent loads."});
  document::append(all, std::move(blocks));
  return document::under("Cache curves", std::move(all));
}

} // namespace

document::Section caches_section() {
  return {"caches", write_caches};
}

document::Section sweeps_section() {
  return {"caches", write_sweeps};
}

} // namespace recount::caches
