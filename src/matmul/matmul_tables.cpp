// The tables of the report: products of doubles by size and by block.
#include "base/format.hpp"
#include "matmul/cells.hpp"
#include "matmul/derived.hpp"
#include "matmul/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace recount::matmul {
namespace {

std::string factor_text(double factor) {
  return fmt::format("{:.2f}", factor);
}

std::string per_thousand(double share) {
  return base::format_number(1000 * share);
}

/// Makes the column of one quantity for some loops.
using Make = std::function<Measure(const std::string& label)>;
struct Aspect {
  const char* suffix; ///< after the name of the loops; empty: nothing
  Make make;
};

/// One row per size, one column per part of each variant of the loops.
std::vector<document::Block> by_size(const std::string& caption, const std::vector<Product>& loops,
                                     const std::set<std::int64_t>& sizes, const std::vector<Aspect>& parts) {
  std::vector<Product> rows;
  for (const std::int64_t n : sizes) {
    Product row;
    row.n = n;
    rows.push_back(row);
  }
  std::vector<Measure> columns;
  for (const Aspect& part : parts)
    for (const Product& one : loops) {
      Measure measure = part.make(loops_name(one) + part.suffix);
      const auto of = measure.of;
      measure.of = [of, one](const Product& row) { return of(at_size(one, row.n)); };
      if (const auto why = measure.why)
        measure.why = [why, one](const Product& row) { return why(at_size(one, row.n)); };
      columns.push_back(std::move(measure));
    }
  return down(caption, {{"n", [](const Product& p) { return std::to_string(p.n); }}}, rows, columns);
}

struct DoubleProducts {
  std::vector<Product> loops, plain; ///< without blocks; of those the plain build
  std::vector<Product> blocked;      ///< products
  std::set<std::int64_t> sizes;
};

DoubleProducts doubles_of(const Products& group) {
  DoubleProducts all;
  for (const Product& loops : group.loops()) {
    if (loops.element != "f64") continue;
    if (loops.block == 0) all.loops.push_back(loops);
    if (loops.block == 0 && loops.build.empty() && loops.variant != "dgemm") all.plain.push_back(loops);
  }
  for (const auto& [product, metrics] : group.of) {
    if (product.element != "f64") continue;
    if (product.block > 0 && product.build.empty())
      all.blocked.push_back(product);
    else
      all.sizes.insert(product.n);
  }
  std::ranges::sort(all.blocked, [](const Product& a, const Product& b) {
    return std::pair(a.n, a.block) < std::pair(b.n, b.block);
  });
  return all;
}

/// simple before line, plain before others: the order of the study, not of the alphabet.
void in_order(std::vector<Product>& loops) {
  const auto rank = [](const Product& p) {
    const int variant = p.variant == "ijk" ? 0 : p.variant == "ikj" ? 1 : p.variant == "dgemm" ? 3 : 2;
    return std::tuple(p.build.empty() ? 0 : 1, variant, p.build);
  };
  std::ranges::stable_sort(loops, [&](const Product& a, const Product& b) { return rank(a) < rank(b); });
}

std::vector<document::Block> block_tables(const Products& group, const DoubleProducts& all) {
  std::vector<document::Block> blocks;
  const std::vector<Lead> leads{{"n", [](const Product& p) { return std::to_string(p.n); }},
                                {"block", [](const Product& p) { return std::to_string(p.block); }}};
  const auto against_line = [&group](std::optional<Quantity> Comparison::*which) {
    return [&group, which](const Product& p) {
      Product line = p;
      line.variant = "ikj";
      line.block = 0;
      return compare(group, p, line).*which;
    };
  };
  document::append(blocks, down("Blocked products: speed-up over line at the same size", leads, all.blocked,
                                {{"time (s)", [&group](const Product& p) { return seconds(group, p); },
                                  base::format_seconds},
                                 derived_measure(group, "GFLOP/s", "GFLOPS", base::format_number),
                                 {"speed-up by time", against_line(&Comparison::by_time), factor_text},
                                 {"speed-up by cycles", against_line(&Comparison::by_cycles), factor_text}}));
  document::append(blocks, down("Blocked products: misses (10^6) and hit rates", leads, all.blocked,
                                {metric_measure(group, "L1 misses", "PAPI_L1_DCM", base::format_millions),
                                 metric_measure(group, "L2 misses", "PAPI_L2_DCM", base::format_millions),
                                 derived_measure(group, "L1 hit rate", "L1_HIT_RATE", base::format_share),
                                 derived_measure(group, "L2 hit rate", "L2_HIT_RATE", base::format_share),
                                 {"L1 hit rate difference (points)", against_line(&Comparison::l1),
                                  base::format_points}}));
  return blocks;
}

std::vector<document::Block> ceilings_table(const Products& group) {
  document::Table table{
      "Measured peak rates of this machine: best repetition, by the clock", {{"", false}, {"rate"}}, {}};
  for (const auto& ceiling : group.ceilings) {
    if (ceiling.bandwidth)
      table.rows.push_back({fmt::format("read bandwidth of an array of {} in {}",
                                        base::format_bytes(ceiling.size), ceiling.name),
                            fmt::format("{:.1f} GB/s", ceiling.rate / 1e9)});
    else
      table.rows.push_back({ceiling.name == "vector" ? "multiplications and additions, widest vectors"
                                                     : "multiplications and additions, scalar",
                            fmt::format("{:.1f} GFLOP/s", ceiling.rate / 1e9)});
  }
  if (table.rows.empty()) return {};
  std::vector<document::Block> made;
  made.emplace_back(std::move(table));
  return made;
}

} // namespace

std::vector<document::Block> matmul_tables(const Products& group) {
  DoubleProducts all = doubles_of(group);
  if (all.loops.empty() && all.blocked.empty()) return {};
  in_order(all.loops);
  in_order(all.plain);
  std::vector<document::Block> blocks;
  const auto table = [&](const std::string& caption, const std::vector<Product>& loops,
                         const std::vector<Aspect>& parts) {
    document::append(blocks, by_size(caption, loops, all.sizes, parts));
  };
  const auto of_metric = [&](const std::string& metric, auto show) -> Make {
    return [&group, metric, show](const std::string& label) {
      return metric_measure(group, label, metric, show);
    };
  };
  const auto of_derived = [&](const std::string& name, auto show) -> Make {
    return
        [&group, name, show](const std::string& label) { return derived_measure(group, label, name, show); };
  };
  table("Time of the product (s)", all.loops,
        {{"", [&group](const std::string& label) {
            return Measure{label, [&group](const Product& p) { return seconds(group, p); },
                           base::format_seconds};
          }}});
  table("CPU time of the product (s)", all.loops, {{"", of_metric("cpu_seconds", base::format_seconds)}});
  table("GFLOP/s, of 2 n^3 operations", all.loops, {{"", of_derived("GFLOPS", base::format_number)}});
  table("Data-cache misses (10^6)", all.plain,
        {{": L1", of_metric("PAPI_L1_DCM", base::format_millions)},
         {": L2", of_metric("PAPI_L2_DCM", base::format_millions)}});
  table("Hit rates", all.plain,
        {{": L1", of_derived("L1_HIT_RATE", base::format_share)},
         {": L2", of_derived("L2_HIT_RATE", base::format_share)}});
  table("Misses per 1000 operations, and arithmetic intensity (operations per byte read into L2)", all.plain,
        {{": L1 misses", of_derived("L1_PER_FLOP", per_thousand)},
         {": L2 misses", of_derived("L2_PER_FLOP", per_thousand)},
         {": intensity", of_derived("INTENSITY", base::format_number)}});
  table("Instructions per cycle", all.plain, {{"", of_derived("IPC", base::format_number)}});
  std::vector<Product> lines;
  std::ranges::copy_if(all.plain, std::back_inserter(lines),
                       [](const Product& p) { return p.variant == "ikj"; });
  const auto against_simple = [&group](std::optional<Quantity> Comparison::*which) {
    return [&group, which](const Product& p) {
      Product simple = p;
      simple.variant = "ijk";
      return compare(group, p, simple).*which;
    };
  };
  std::vector<Product> at_sizes;
  for (const std::int64_t n : all.sizes)
    for (const Product& line : lines)
      if (group.of.contains(at_size(line, n))) at_sizes.push_back(at_size(line, n));
  auto compared = down(
      "line compared with simple", {{"n", [](const Product& p) { return std::to_string(p.n); }}}, at_sizes,
      {{"speed-up by time", against_simple(&Comparison::by_time), factor_text},
       {"speed-up by cycles", against_simple(&Comparison::by_cycles), factor_text},
       {"L1 hit rate difference (points)", against_simple(&Comparison::l1), base::format_points},
       {"L2 hit rate difference (points)", against_simple(&Comparison::l2), base::format_points}});
  document::append(blocks, std::move(compared));
  document::append(blocks, block_tables(group, all));
  document::append(blocks, ceilings_table(group));
  return blocks;
}

} // namespace recount::matmul
