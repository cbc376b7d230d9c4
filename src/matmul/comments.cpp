// Remarks on all products of all machines.
#include "base/format.hpp"
#include "base/names.hpp"
#include "matmul/sections.hpp"
#include "model/machine.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace recount::matmul {
namespace {

/// The model witnesses of a group that are whole machines, not comparisons.
std::vector<std::string> models_of(const Products& group) {
  std::vector<std::string> names;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, values] : metrics)
      if (is_modelled(who.first) && !values.for_comparison &&
          std::ranges::find(names, who.first) == names.end())
        names.push_back(who.first);
  return names;
}

/// The described machine of a study that nobody measured; empty where there is another witness.
std::string only_machine(const Products& group) {
  std::string only;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, values] : metrics) {
      if (!described_machine(who.first)) return {};
      const std::string name = who.first.substr(6, who.first.find('~') - 6);
      if (!only.empty() && name != only) return {};
      only = name;
    }
  return only;
}

void take_machine(Capacities& into, const model::MachineDescription& machine) {
  into.levels.clear();
  for (const auto& level : machine.levels)
    into.levels.push_back({level.name, level.size});
  into.line = machine.levels.front().line;
  if (machine.tlb && !machine.tlb->levels.empty()) {
    into.page = machine.tlb->page;
    into.tlb_pages = machine.tlb->levels.back().entries;
  }
}

std::vector<Remark> remarks_of(const std::vector<Products>& all, const Products& group) {
  std::vector<Remark> made;
  const auto add = [&](std::vector<Remark> more) {
    for (Remark& remark : more)
      made.push_back(std::move(remark));
  };
  // The model of the machine of this group: its own, or the described machine of a published table.
  const Products* modelled = &group;
  std::string model = "model";
  if (group.published && group.run) {
    const auto machine = group.run->versions.find("machine");
    model = "model:" + (machine == group.run->versions.end() ? std::string("unknown") : machine->second);
    for (const Products& other : all) {
      const auto models = models_of(other);
      if (std::ranges::find(models, model) != models.end()) modelled = &other;
    }
  }
  const Capacities machine = capacities_of(group);
  add(misses_out_of_order(group, modelled, model));
  if (group.published)
    for (const Products& other : all)
      for (const auto& witness : models_of(other))
        if (const auto by = model::shipped_machine(witness.substr(witness.find(':') + 1)))
          add(parts_of_presets(group, other, witness, *by));
  add(transposition(group));
  add(faster_with_fewer_hits(group));
  add(cliffs(group, *modelled, model, machine));
  if (!group.published)
    for (const auto& witness : models_of(group))
      add(conflicts(group, witness));
  add(languages(group));
  add(blocks_that_fit(group, machine));
  add(odd_ones(group));
  return made;
}

} // namespace

Capacities capacities_of(const Products& group) {
  Capacities capacities;
  capacities.machine = "this machine";
  if (!group.run) return capacities;
  for (const auto& cache : group.run->caches)
    capacities.levels.push_back({cache.level, cache.size});
  capacities.line = group.line();
  const auto stated = group.run->versions.find("machine");
  const std::string named = stated == group.run->versions.end() ? only_machine(group) : stated->second;
  if (named.empty() || named == "host") return capacities;
  capacities.machine = named;
  if (const auto known = model::shipped_machine(named)) take_machine(capacities, *known);
  return capacities;
}

Remark undecided(const std::string& what, const Quantity& comparison) {
  Remark remark;
  remark.undecided = true;
  remark.evidence.push_back(fmt::format("{}: {}", what, reservation(comparison)));
  return remark;
}

std::vector<document::Block> remarks(const std::vector<Products>& all) {
  std::vector<document::Block> blocks;
  std::vector<std::string> open;
  for (const Products& group : all)
    for (const Remark& remark : remarks_of(all, group)) {
      if (remark.undecided) {
        open.insert(open.end(), remark.evidence.begin(), remark.evidence.end());
        continue;
      }
      blocks.emplace_back(document::Heading{remark.title, 2});
      blocks.emplace_back(document::Paragraph{remark.text});
      if (!remark.evidence.empty()) blocks.emplace_back(document::List{remark.evidence});
    }
  if (open.empty()) return blocks;
  blocks.emplace_back(document::Heading{"Differences that are not stated", 2});
  blocks.emplace_back(document::Paragraph{fmt::format(
      "A difference is stated only if the 95 % intervals of both medians are disjoint and Welch's "
      "t test rejects equality at the level {}.",
      statistics::comparison_level)});
  blocks.emplace_back(document::List{std::move(open)});
  return blocks;
}

} // namespace recount::matmul
