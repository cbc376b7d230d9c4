#include "explain/contribution.hpp"

#include "matmul/products.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace recount::explain {
namespace {

constexpr std::array contributed{"seconds", "PAPI_L1_DCM", "PAPI_L2_DCM"};

/// What does not end a field, a line or a quotation.
std::string plain_field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '"' || c == '#' || static_cast<unsigned char>(c) < 0x20; },
      ' ');
  return text;
}

std::string facts_of(const result::Run& run) {
  std::vector<std::string> facts;
  for (const char* name : {"microcode", "papi", "recount"})
    if (const auto at = run.versions.find(name); at != run.versions.end())
      facts.push_back(fmt::format("{} {}", name, plain_field(at->second)));
  // Its path stays here.
  if (const auto at = run.versions.find("preset_table"); at != run.versions.end())
    facts.push_back("preset table " + plain_field(at->second.substr(at->second.rfind('(') + 1, 16)));
  if (!run.os.empty()) facts.push_back(plain_field(run.os));
  if (!run.virtualised.empty()) facts.push_back("virtual machine: " + plain_field(run.virtualised));
  for (const char* preset : contributed)
    if (const auto at = run.presets.find(preset); at != run.presets.end())
      facts.push_back(fmt::format("{} = {}", preset, plain_field(at->second)));
  return fmt::format("{}", fmt::join(facts, "; "));
}

bool by_counter(const Witness& witness) {
  return witness == Witness::papi || witness == Witness::perf || witness == Witness::clock;
}

/// Rows of one machine: PAPI's counts before those of perf_event.
using Row = std::tuple<std::string, std::int64_t, std::int64_t, int>; // loops, n, block, repetition
using Rows = std::map<Row, std::array<std::optional<double>, contributed.size()>>;

} // namespace

std::string contribution(const result::Results& results) {
  std::map<std::pair<std::string, bool>, Rows> groups; // by run, and whether in huge pages
  for (const Witness& preferred : {Witness(Witness::papi), Witness(Witness::perf), Witness(Witness::clock)})
    for (const auto& o : results.observations) {
      const auto product = matmul::parse_product(o.kernel, o.params);
      const auto metric = std::ranges::find(contributed, o.metric);
      const auto value = result::as_double(o.value);
      if (!product || product->element != "f64" || !product->build.empty() || product->transposes || !value ||
          metric == contributed.end() || !by_counter(o.witness) || o.witness != preferred)
        continue;
      const bool huge = matmul::word_of(o.params, "pagesize") == "huge";
      auto& cell = groups[{o.run.get(), huge}][{product->variant, product->n, product->block, o.repetition}]
                         [static_cast<std::size_t>(metric - contributed.begin())];
      if (!cell) cell = value;
    }
  if (groups.empty()) return {};
  std::string head = "# Source: contributed, written by recount explain --contribute\n", rows;
  int number = 0;
  const auto runs = results.runs_by_id();
  for (const auto& [key, cells] : groups) {
    if (!runs.contains(key.first)) continue;
    const result::Run* const run = runs.at(key.first);
    const std::string name = fmt::format("c{}", ++number);
    head += fmt::format("# {}: {}\n", name, facts_of(*run));
    for (const auto& [row, values] : cells) {
      const auto& [variant, n, block, repetition] = row;
      rows += fmt::format("{},{},{},{},{},{},{}", name, plain_field(run->cpu), key.second ? "huge" : "",
                          variant, n, block > 0 ? std::to_string(block) : "", repetition + 1);
      for (std::size_t i = 0; i < values.size(); ++i)
        rows += values[i] ? fmt::format(",{:.{}f}", *values[i], i == 0 ? 9 : 0) : ",";
      rows += '\n';
    }
  }
  return rows.empty() ? std::string()
                      : head + "group,cpu,pages,variant,n,block,repetition,seconds,l1_dcm,l2_dcm\n" + rows;
}

} // namespace recount::explain
