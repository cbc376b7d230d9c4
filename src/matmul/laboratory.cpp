// The tables of the laboratory: products of 16-bit integers.
#include "base/format.hpp"
#include "matmul/cells.hpp"
#include "matmul/derived.hpp"
#include "matmul/sections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::matmul {
namespace {

std::string times_factor(double factor) {
  return fmt::format("{:.2f}", factor);
}

std::vector<Measure> counts(const Products& group) {
  return {
      metric_measure(group, "L1 misses (10^6)", "PAPI_L1_DCM", base::format_millions),
      derived_measure(group, "loads + stores (10^6)", "LST", base::format_millions),
      {"cycles (10^6)", [&group](const Product& p) { return cycles(group, p); }, base::format_millions},
      {"elapsed time (s)", [&group](const Product& p) { return seconds(group, p); }, base::format_seconds},
      metric_measure(group, "CPU time (s)", "cpu_seconds", base::format_seconds),
      derived_measure(group, "L1 hit rate", "L1_HIT_RATE", base::format_share),
      derived_measure(group, "L2 hit rate", "L2_HIT_RATE", base::format_share),
      metric_measure(group, "L2 misses (10^6)", "PAPI_L2_DCM", base::format_millions)};
}

/// Against another product of the same size.
std::vector<Measure> comparison(const Products& group, const Product& other) {
  const auto part = [&group, other](std::optional<Quantity> Comparison::*which) {
    return [&group, other, which](const Product& p) { return compare(group, p, other).*which; };
  };
  return {{"L1 hit rate difference (points)", part(&Comparison::l1), base::format_points},
          {"L2 hit rate difference (points)", part(&Comparison::l2), base::format_points},
          {"speed-up by cycles", part(&Comparison::by_cycles), times_factor},
          {"speed-up by time", part(&Comparison::by_time), times_factor}};
}

struct LabProducts {
  Product first;
  std::vector<Product> transposed, blocked, vectorised;
};

/// The order of the laboratory's steps.
int course(const Product& product) {
  return product.variant == "ijk-mem" ? 0 : product.variant == "transposed" ? 1 : 2;
}

/// Those of one size, or nothing when the straightforward one is missing.
std::vector<LabProducts> labs(const Products& group) {
  std::vector<LabProducts> all;
  for (const auto& [product, metrics] : group.of) {
    if (product.element != "i16" || product.variant != "ijk-mem" || !product.build.empty()) continue;
    LabProducts lab{product, {}, {}, {}};
    for (const auto& [other, unused] : group.of) {
      if (other.element != "i16" || other.n != product.n) continue;
      if (other.build == "vectorised") lab.vectorised.push_back(other);
      if (!other.build.empty()) continue;
      if (other.variant == "transposed") lab.transposed.push_back(other);
      if (other.variant == "blocked") lab.blocked.push_back(other);
    }
    for (auto* products : {&lab.transposed, &lab.blocked, &lab.vectorised})
      std::ranges::stable_sort(*products, {}, course);
    all.push_back(std::move(lab));
  }
  return all;
}

/// The same loops in the vectorised build.
std::vector<document::Block> vectorised_table(const Products& group, const LabProducts& lab) {
  const Measure rate{"speed-up over the plain build by time",
                     [&group](const Product& p) -> std::optional<Quantity> {
                       Product plain = p;
                       plain.build.clear();
                       return compare(group, p, plain).by_time;
                     },
                     times_factor};
  return across(
      fmt::format("The same loops built with {} (vectorised, sums in registers); n = {}",
                  group.run && group.run->versions.contains("vectorised_flags")
                      ? group.run->versions.at("vectorised_flags")
                      : "-O3 -march=native",
                  lab.first.n),
      lab.vectorised,
      {{"elapsed time (s)", [&group](const Product& p) { return seconds(group, p); }, base::format_seconds},
       metric_measure(group, "L1 misses (10^6)", "PAPI_L1_DCM", base::format_millions),
       rate});
}

/// One column for each transposed product that the blocked one is compared with.
std::vector<document::Block> against_transposed(const Products& group, const Product& blocked,
                                                const LabProducts& lab) {
  document::Table table{
      fmt::format("4. {} compared with the transposed product; n = {}", loops_name(blocked), lab.first.n),
      {{"", false}},
      {}};
  std::vector<std::string> who;
  for (const Product& transposed : lab.transposed) {
    const auto one = across("", {blocked}, comparison(group, transposed));
    if (one.empty()) continue;
    const auto& compared = std::get<document::Table>(one[0]);
    const auto& rows = compared.rows;
    for (const auto& note : compared.notes)
      if (std::ranges::find(table.notes, note) == table.notes.end()) table.notes.push_back(note);
    table.columns.push_back({loops_name(transposed)});
    for (std::size_t i = table.rows.size(); i < rows.size(); ++i) {
      table.rows.push_back({rows[i][0]});
      who.push_back(rows[i].back());
      table.rows.back().resize(table.columns.size() - 1, "-");
    }
    for (auto& row : table.rows) {
      const auto same = std::ranges::find_if(rows, [&](const auto& r) { return r[0] == row[0]; });
      row.push_back(same == rows.end() ? "-" : (*same)[1]);
    }
  }
  if (table.rows.empty()) return {};
  table.columns.push_back({"witness", false});
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].push_back(who[i]);
  std::vector<document::Block> made;
  made.emplace_back(std::move(table));
  return made;
}

std::string sizes_text(const Products& group, const Product& product) {
  const auto bytes = static_cast<double>(product.n * product.n * product.element_bytes());
  return fmt::format(
      "Matrices are {} x {} of {}-byte integers: {:.0f} bytes ({}) each, {} elements per line of {} "
      "bytes.",
      product.n, product.n, product.element_bytes(), bytes, base::format_bytes(bytes),
      group.line() / product.element_bytes(), group.line());
}

} // namespace

std::vector<document::Block> laboratory(const Products& group) {
  std::vector<document::Block> blocks;
  for (const LabProducts& lab : labs(group)) {
    const std::int64_t n = lab.first.n;
    blocks.emplace_back(document::Paragraph{sizes_text(group, lab.first)});
    document::append(blocks,
                     across(fmt::format("1. Straightforward product, {}; n = {}", loops_prose(lab.first), n),
                            {lab.first}, counts(group)));
    if (!lab.transposed.empty()) {
      auto measures = counts(group);
      for (auto& measure : comparison(group, lab.first)) {
        measure.label += " vs 1";
        measures.push_back(std::move(measure));
      }
      document::append(
          blocks, across(fmt::format("2. Transposed product, {}; n = {}", loops_prose(lab.transposed[0]), n),
                         lab.transposed, measures));
    }
    if (!lab.blocked.empty()) {
      auto measures = counts(group);
      for (auto& measure : comparison(group, lab.first)) {
        measure.label += " vs 1";
        measures.push_back(std::move(measure));
      }
      document::append(blocks, across(fmt::format("3. Blocked product, {}, block size one line; n = {}",
                                                  loops_prose(lab.blocked[0]), n),
                                      lab.blocked, measures));
    }
    for (const Product& blocked : lab.blocked)
      document::append(blocks, against_transposed(group, blocked, lab));
    document::append(blocks, vectorised_table(group, lab));
  }
  return blocks;
}

} // namespace recount::matmul
