#include "base/format.hpp"
#include "base/witness.hpp"
#include "matmul/derived.hpp"
#include "matmul/matmul_sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

// The tables of the report: products of doubles by size and by block.
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

// The tables of the laboratory: products of 16-bit integers.
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

// Every value of every repetition.
namespace {

std::string one_value(const std::string& metric, double value) {
  return metric.ends_with("seconds") ? base::format_seconds(value) : fmt::format("{:.0f}", value);
}

/// The most repetitions of anything that was measured; 0: nothing was.
std::size_t most_repetitions(const Products& group) {
  std::size_t most = 0;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics)
      if (!who.first.modelled()) most = std::max(most, all.values.size());
  return most;
}

std::vector<std::string> measured_row(const Repetitions& all, const std::string& metric, std::size_t most) {
  std::vector<std::string> cells;
  for (const Repeated& one : all.values)
    cells.push_back(one_value(metric, one.value) + (one.disturbances.empty() ? "" : "*"));
  cells.resize(most);
  if (most < 2) return cells;
  const statistics::Summary& s = *all.summary;
  cells.push_back(one_value(metric, s.value));
  if (s.statistic == statistics::Statistic::median)
    cells.push_back(fmt::format("{} to {}", one_value(metric, s.low), one_value(metric, s.high)));
  return cells;
}

document::Table head_of(std::string caption) {
  return {std::move(caption),
          {{"product", false, true}, {"n", true, true}, {"metric", false, true}, {"witness", false, true}},
          {}};
}

} // namespace

std::vector<document::Block> all_values(const Products& group) {
  const std::size_t most = most_repetitions(group);
  document::Table measured =
      head_of(most > 1 ? fmt::format("All repetitions and their {}", statistics::name_of(group.statistic))
                       : std::string("All values"));
  for (std::size_t i = 0; i < most; ++i)
    measured.columns.push_back({most > 1 ? std::to_string(i + 1) : "value"});
  if (most > 1) measured.columns.push_back({statistics::name_of(group.statistic)});
  if (most > 1 && group.statistic == statistics::Statistic::median)
    measured.columns.push_back({"95 % interval"});
  document::Table deterministic =
      head_of("All modelled values (median of the draws of placement, if there are several)");
  deterministic.columns.push_back({"value"});
  std::set<std::string> disturbed; // what each disturbed repetition suffered from
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics) {
      if (!all.summary) continue;
      const auto& [witness, metric] = who;
      std::vector<std::string> row{loops_name(product), std::to_string(product.n), metric, witness.name()};
      auto cells = witness.modelled() ? std::vector{one_value(metric, all.summary->value)}
                                      : measured_row(all, metric, most);
      for (const Repeated& one : all.values)
        if (!one.disturbances.empty())
          disturbed.insert(fmt::format(
              "{}, n = {}, repetition {} ({})", loops_name(product), product.n, one.repetition + 1,
              fmt::join(one.disturbances | std::views::transform(&Flag::text), ", ")));
      row.insert(row.end(), cells.begin(), cells.end());
      (witness.modelled() ? deterministic : measured).rows.push_back(std::move(row));
    }
  if (!disturbed.empty())
    measured.notes.push_back(fmt::format("* more than {} % of the time lost: {}.", result::disturbed_percent,
                                         fmt::join(disturbed, "; ")));
  std::vector<document::Block> made;
  for (document::Table* table : {&measured, &deterministic})
    if (!table->rows.empty()) made.emplace_back(std::move(*table));
  return made;
}

// A published table compared with the results of recount for the same products.
namespace {

std::string ratio_text(double ratio) {
  return fmt::format("{:.3f}", ratio);
}

std::string named(const Product& product) {
  return loops_name(product);
}

/// The group that holds the model's answer for the machine of a table.
const Products* modelled_by(const std::vector<Products>& all, const Witness& witness) {
  for (const Products& group : all)
    for (const auto& [product, metrics] : group.of)
      for (const auto& [who, values] : metrics)
        if (same_witness(who.first, witness) && values.summary) return &group;
  return nullptr;
}

std::optional<Quantity> over(const std::optional<Quantity>& a, const std::optional<Quantity>& b) {
  if (!a || !b || b->low <= 0) return {};
  return Quantity{a->value / b->value, a->witness, a->low / b->high, a->high / b->low};
}

struct Beside {
  const Products& table;
  const std::vector<Products>& all;
  const Products* modelled;
  Witness witness;

  [[nodiscard]] std::optional<Quantity> of_model(const Product& p, const std::string& metric,
                                                 const std::string& part = "") const {
    if (!modelled) return {};
    const auto at = modelled->of.find(p);
    return at == modelled->of.end() ? std::nullopt
                                    : central(at->second, metric, {Witness::model, witness.detail + part});
  }
  [[nodiscard]] std::optional<Quantity> of_table(const Product& p, const std::string& metric) const {
    const auto at = table.of.find(p);
    return at == table.of.end() ? std::nullopt : central(at->second, metric);
  }
  /// Of the first machine that recount ran them on.
  [[nodiscard]] std::optional<Quantity> own_seconds(const Product& p) const {
    for (const Products& group : all)
      if (!group.published)
        if (const auto own = seconds(group, p)) return own;
    return {};
  }
};

/// Whether a published value is within the predicted range: -1 below, 0 inside, 1 above. Nothing where the
/// prediction is one value.
std::optional<Quantity> place_in_range(const std::optional<Quantity>& model,
                                       const std::optional<Quantity>& table) {
  if (!model || !table || model->low == model->high) return {};
  return Quantity{table->value < model->low ? -1.0 : table->value > model->high ? 1.0 : 0.0, model->witness};
}

std::string place_text(double place) {
  return place < 0 ? "below" : place > 0 ? "above" : "inside";
}

std::vector<document::Block> tables_of(const Beside& beside, const std::vector<Product>& products) {
  const std::vector<Lead> leads{{"loops", named},
                                {"n", [](const Product& p) { return std::to_string(p.n); }}};
  std::vector<document::Block> blocks;
  const std::string machine = beside.witness.described_machine().value_or("");
  const auto in_range = [&beside](const char* metric) {
    return Measure{"published value in the predicted range",
                   [&beside, metric](const Product& p) {
                     return place_in_range(beside.of_model(p, metric), beside.of_table(p, metric));
                   },
                   place_text};
  };
  document::append(
      blocks, down("L1 data-cache misses (10^6): published, and modelled for " + machine, leads, products,
                   {{"published", [&](const Product& p) { return beside.of_table(p, "PAPI_L1_DCM"); },
                     base::format_millions},
                    {"model", [&](const Product& p) { return beside.of_model(p, "PAPI_L1_DCM"); },
                     base::format_millions},
                    {"model / published",
                     [&](const Product& p) {
                       return over(beside.of_model(p, "PAPI_L1_DCM"), beside.of_table(p, "PAPI_L1_DCM"));
                     },
                     ratio_text},
                    in_range("PAPI_L1_DCM"),
                    {"model without TLB / published",
                     [&](const Product& p) {
                       return over(beside.of_model(p, "PAPI_L1_DCM", "~no-tlb"),
                                   beside.of_table(p, "PAPI_L1_DCM"));
                     },
                     ratio_text}}));
  document::append(
      blocks, down("L2 data-cache misses (10^6): published, and modelled for loads, stores and page walks",
                   leads, products,
                   {{"published", [&](const Product& p) { return beside.of_table(p, "PAPI_L2_DCM"); },
                     base::format_millions},
                    {"model", [&](const Product& p) { return beside.of_model(p, "PAPI_L2_DCM"); },
                     base::format_millions},
                    in_range("PAPI_L2_DCM"),
                    {"published / published L1",
                     [&](const Product& p) {
                       return over(beside.of_table(p, "PAPI_L2_DCM"), beside.of_table(p, "PAPI_L1_DCM"));
                     },
                     ratio_text}}));
  document::append(
      blocks,
      down("Time (s): published, and on this machine", leads, products,
           {{"published", [&](const Product& p) { return seconds(beside.table, p); }, base::format_seconds},
            {"published GFLOP/s", [&](const Product& p) { return derived(beside.table, p, "GFLOPS"); },
             base::format_number},
            {"here", [&](const Product& p) { return beside.own_seconds(p); }, base::format_seconds},
            {"published / here",
             [&](const Product& p) { return over(seconds(beside.table, p), beside.own_seconds(p)); },
             ratio_text}}));
  return blocks;
}

} // namespace

std::vector<document::Block> published(const std::vector<Products>& all) {
  std::vector<document::Block> blocks;
  for (const Products& table : all) {
    if (!table.published || !table.run) continue;
    const auto& versions = table.run->versions;
    blocks.emplace_back(document::Heading{"Published: " + versions.at("published"), 2});
    if (const auto source = versions.find("source"); source != versions.end())
      blocks.emplace_back(document::Paragraph{source->second});
    Witness witness;
    if (const auto machine = versions.find("machine"); machine != versions.end())
      witness = {Witness::model, machine->second};
    const Products* const modelled = witness.empty() ? nullptr : modelled_by(all, witness);
    std::vector<Product> products;
    for (const auto& [product, metrics] : table.of)
      products.push_back(product);
    std::ranges::sort(products, [](const Product& a, const Product& b) {
      return std::tuple(a.block > 0, a.build, a.variant, a.n, a.block) <
             std::tuple(b.block > 0, b.build, b.variant, b.n, b.block);
    });
    document::append(blocks, tables_of({table, all, modelled, witness}, products));
    if (!modelled)
      blocks.emplace_back(document::Paragraph{
          "There is no model of its machine to compare with: name one with --published-machine."});
  }
  return blocks;
}

} // namespace recount::matmul
