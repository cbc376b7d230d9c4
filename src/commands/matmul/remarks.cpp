#include "commands/matmul/matmul_tables.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "commands/matmul/derived.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <ranges>
#include <set>

namespace recount::matmul {
namespace {

using base::format_bytes;
using base::format_millions;
using base::format_number;
using base::format_share;
using base::format_times;
using base::format_witness;

/// What the remarks on one group are made from.
struct Subject {
  const ProductGroup& group;
  const ProductGroup& modelled;      ///< the group with the values of `model`: often the same
  Witness model;                     ///< the witness that models the machine of the group
  model::MachineDescription machine; ///< of the group; its levels may be those that the system states
};

struct Findings {
  std::vector<Remark> remarks;
  std::vector<std::string> undecided; ///< differences that the values do not support, with the reason

  /// Without evidence there is no remark.
  void add_evident(Remark remark) {
    if (!remark.evidence.empty()) remarks.push_back(std::move(remark));
  }
  void add_undecided(const std::string& what, const Quantity& comparison) {
    undecided.push_back(fmt::format("{}: {}", what, reservation(comparison)));
  }
};

std::string product_name(const Product& product) {
  return fmt::format("{}, n = {}", loops_name(product), product.n);
}

// Misses of L2 that exceed those of L1.

struct EventRow {
  const char *event, *counts;
};
/// Native events that count more than demand accesses (Intel 64 and IA-32 Architectures Software Developer's
/// Manual, volume 3, and its lists of events).
constexpr std::array event_rows{
    EventRow{"LLC_REFERENCES",
             "every request of the core to the last level, including speculation and hardware "
             "prefetches"},
    EventRow{"L2_RQSTS:MISS", "requests of the L2 prefetcher and of L1"},
    EventRow{"L2_LINES_IN", "every line filled into L2, including prefetches"},
    EventRow{"L1D:REPLACEMENT",
             "lines filled into L1 for loads, stores, page walks and the L1 prefetcher, but "
             "not what the L2 prefetcher fetches into L2"}};

std::string preset_text(const ProductGroup& group, const std::string& preset) {
  if (!group.run || !group.run->presets.contains(preset)) return {};
  const std::string& formula = group.run->presets.at(preset);
  std::string text = fmt::format(" On the CPU that counted, {} = {}.", preset, formula);
  for (const EventRow& row : event_rows)
    if (formula.find(row.event) != std::string::npos)
      text += fmt::format(" {} counts {}.", row.event, row.counts);
  return text;
}

void add_misses_out_of_order(Findings& findings, const Subject& subject) {
  constexpr double excess_share = 1.02; // counts of different passes differ a little
  const ProductGroup& group = subject.group;
  Remark remark{"More misses in L2 than in L1", "", {}};
  std::size_t compared = 0;
  bool dead = true; // L1, in every product
  for (const auto& [product, metrics] : group.products)
    for (const Witness::Kind witness : {Witness::perf, Witness::papi, Witness::published}) {
      const auto l1 = group.quantity(product, "PAPI_L1_DCM", witness),
                 l2 = group.quantity(product, "PAPI_L2_DCM", witness);
      if (!l1 || !l2) continue;
      ++compared;
      dead = dead && l1->value == 0;
      if (l2->value <= excess_share * l1->value || evidence(*l1, *l2) != statistics::Evidence::clear)
        continue;
      auto& line = remark.evidence.emplace_back(
          fmt::format("{}: {} million in L2, {} million in L1{}, {}", product_name(product),
                      format_millions(l2->value), format_millions(l1->value),
                      l1->value > 0 ? fmt::format(" ({})", format_times(l2->value / l1->value)) : "",
                      format_witness(witness)));
      if (const auto demand = subject.modelled.quantity(product, "PAPI_L2_DCM", subject.model))
        line +=
            fmt::format("; {} million, {}", format_millions(demand->value), format_witness(subject.model));
    }
  if (dead && !remark.evidence.empty()) {
    findings.remarks.push_back(
        {"PAPI_L1_DCM counted nothing",
         fmt::format("It is 0 in {}, though every product misses in L1: no hit rate of "
                     "L1 follows from it.",
                     base::format_count(compared, "product")),
         {}});
    return;
  }
  const std::string formula = preset_text(group, "PAPI_L2_DCM");
  remark.text =
      fmt::format("In {} of {} PAPI_L2_DCM is larger than PAPI_L1_DCM, so the two do not count misses of the "
                  "same accesses.",
                  remark.evidence.size(), base::format_count(compared, "product")) +
      (formula.empty() ? " The results lack its formula: see recount presets PAPI_L2_DCM --pmu NAME."
                       : formula) +
      preset_text(group, "PAPI_L1_DCM");
  findings.add_evident(std::move(remark));
}

// What the presets of a published table consist of, by a model that describes what they count.

/// "demand" of "MODEL_L2_DEMAND_MISSES".
std::string part_name(const std::string& metric) {
  static constexpr std::array<std::pair<const char*, const char*>, 6> rows{
      {{"_DEMAND_MISSES", "demand"},
       {"_WALK_MISSES", "page walks"},
       {"_PREFETCH_MISSES", "requests of the prefetcher above"},
       {"_NEXT_LINE_FETCHES", "next-line prefetcher"},
       {"_ADJACENT_LINE_FETCHES", "adjacent-line prefetcher"},
       {"_STREAMER_FETCHES", "streamer"}}};
  for (const auto& [suffix, name] : rows)
    if (metric.ends_with(suffix)) return name;
  return metric;
}

void add_parts_of_presets(Findings& findings, const ProductGroup& published, const ProductGroup& modelled,
                          const Witness& model, const model::MachineDescription& machine) {
  for (const auto& [preset, sum] : machine.presets) {
    std::vector<std::string> terms;
    for (const auto& [metric, factor] : sum)
      terms.push_back(factor == 1 ? metric : fmt::format("{} {}", factor, metric));
    Remark remark{"Parts of " + preset + ", modelled",
                  fmt::format("The model of {} describes the preset as {}. No counter separates the parts.",
                              machine.name, fmt::join(terms, " + ")),
                  {}};
    for (const auto& [product, metrics] : published.products) {
      const auto reference = published.quantity(product, preset, Witness::published),
                 value = modelled.quantity(product, preset, model);
      if (!reference || !value || value->value <= 0 || reference->value <= 0) continue;
      std::vector<std::string> shares;
      for (const auto& [metric, factor] : sum)
        if (const auto part = modelled.quantity(product, metric, model))
          shares.push_back(part_name(metric) + " " +
                           format_share(static_cast<double>(factor) * part->value / value->value));
      if (shares.size() < sum.size()) continue; // a part was not modelled
      remark.evidence.push_back(fmt::format(
          "{}: published {} million; modelled {:.3f} times as many ({:.3f} to {:.3f}): {}",
          product_name(product), format_millions(reference->value), value->value / reference->value,
          value->low / reference->value, value->high / reference->value, fmt::join(shares, ", ")));
    }
    findings.add_evident(std::move(remark));
  }
}

void add_transposition(Findings& findings, const ProductGroup& group) {
  Remark remark{
      "Cost of the transposition",
      "It adds 2 n^2 loads and stores to the 4 n^3 of the product. A comparison with another product "
      "must include it.",
      {}};
  for (const auto& [with, metrics] : group.products) {
    if (!with.transposes || !with.build.empty()) continue;
    Product without = with;
    without.transposes = false;
    std::vector<std::string> parts;
    if (const auto factor = speed_up(group, with, without))
      parts.push_back(factor->clear() ? fmt::format("time {:+.1f} %, {}", 100 * (1 / factor->value - 1),
                                                    format_witness(factor->witness))
                                      : "time " + reservation(*factor));
    if (const auto rate = difference(group, with, without, "L1_HIT_RATE"))
      parts.push_back(rate->clear()
                          ? fmt::format("L1 hit rate {} points, {}", base::format_points(rate->value),
                                        format_witness(rate->witness))
                          : "L1 hit rate " + reservation(*rate));
    if (!parts.empty()) remark.evidence.push_back(fmt::format("n = {}: {}", with.n, fmt::join(parts, "; ")));
  }
  findings.add_evident(std::move(remark));
}

// Products that are faster than what they are compared with though fewer of their accesses hit L1.

/// The products that a product is compared with: those before it in the course of the study.
std::vector<Product> list_references(const Product& product) {
  struct Row {
    const char *element, *variant, *reference;
  };
  static constexpr std::array rows{Row{"i16", "transposed", "ijk-mem"}, Row{"i16", "blocked", "ijk-mem"},
                                   Row{"i16", "blocked", "transposed"}, Row{"f64", "ikj", "ijk"},
                                   Row{"f64", "blocked", "ikj"}};
  std::vector<Product> references;
  for (const Row& row : rows)
    if (row.element == product.element && row.variant == product.variant)
      references.push_back(product.with_variant(row.reference));
  return references;
}

/// What a miss of L2 costs at most, in ns: in a third level that holds the matrices, and in memory. Larger
/// than the load-to-use latencies of the described machines (26 to 50 cycles of an L3) and of common memory,
/// so that the share of a difference that is computed from it is an upper bound.
constexpr double max_of_hit = 25, max_of_memory = 150;
constexpr double explains_little = 0.5;

/// Whether a level below L2 holds all three matrices.
bool below_l2_fits(const Product& product, const model::MachineDescription& machine) {
  const std::int64_t bytes = 3 * product.n * product.n * product.element_bytes();
  return std::ranges::any_of(machine.levels | std::views::drop(2),
                             [&](const auto& level) { return bytes <= level.size; });
}

/// How much of the difference in time between `a` and the slower `b` the misses of L2 can explain.
std::string effect_of_l2(const Subject& subject, const Product& a, const Product& b, const Witness& witness) {
  const std::string time = time_metric(subject.group, a, b);
  const auto fast = subject.group.quantity(a, time), slow = subject.group.quantity(b, time);
  const auto misses_a = subject.group.quantity(a, "PAPI_L2_DCM", witness),
             misses_b = subject.group.quantity(b, "PAPI_L2_DCM", witness);
  if (!misses_a || !misses_b) return "L2 was not counted, so the cause is open.";
  if (evidence(*misses_a, *misses_b) != statistics::Evidence::clear)
    return "Their L2 misses are not distinguishable from noise, so the cause is open.";
  const double fewer = misses_b->value - misses_a->value, saved = slow->value - fast->value;
  if (fewer <= 0)
    return fmt::format(
        "L2 does not explain it: {} million misses, {} million of the other product. The cause "
        "is open.",
        format_millions(misses_a->value), format_millions(misses_b->value));
  const bool cached = below_l2_fits(a, subject.machine);
  const double each = cached ? max_of_hit : max_of_memory, share = fewer * each * 1e-9 / saved;
  return fmt::format(
      "It has {} million fewer L2 misses ({} and {} million, {}). At an assumed {:.0f} ns each, {}, "
      "they are {} of the {} s{}, and less where misses overlap or are prefetched: {}.",
      format_millions(fewer), format_millions(misses_a->value), format_millions(misses_b->value),
      format_witness(witness), each, cached ? "a slow hit in the level below" : "a slow access to memory",
      share >= 1 ? "all" : fmt::format("{:.0f} %", 100 * share), format_number(saved), time_clause(time),
      share < explains_little ? "most of the difference is not explained"
                              : "how much they explain was not measured");
}

/// The loops of the laboratory that add each product to a sum in memory.
bool sums_in_memory(const Product& product) {
  return product.element == "i16" && (product.variant == "ijk-mem" || product.variant == "transposed");
}

void add_faster_with_fewer_hits(Findings& findings, const Subject& subject) {
  const ProductGroup& group = subject.group;
  for (const auto& [product, metrics] : group.products)
    for (const Product& reference : list_references(product)) {
      const std::string by = time_metric(group, product, reference);
      const auto time = speed_up(group, product, reference, metric(by)),
                 rate = difference(group, product, reference, "L1_HIT_RATE");
      if (!time || !rate || time->value <= 1 || rate->value >= 0) continue;
      if (!time->clear() || !rate->clear()) {
        findings.add_undecided(fmt::format("{} of {} compared with {}, n = {}",
                                           time->clear() ? "L1 hit rate" : "time", loops_name(product),
                                           loops_name(reference), product.n),
                               time->clear() ? *rate : *time);
        continue;
      }
      findings.remarks.push_back(
          {fmt::format("{} is faster than {} with a lower L1 hit rate, n = {}", loops_name(product),
                       loops_name(reference), product.n),
           fmt::format("It is {} as fast{} ({}), though its L1 hit rate is {} points lower ({}). {}{}",
                       format_times(time->value), time_clause(by), format_witness(time->witness),
                       format_number(-100 * rate->value), format_witness(rate->witness),
                       effect_of_l2(subject, product, reference, rate->witness),
                       sums_in_memory(reference) && !sums_in_memory(product)
                           ? " The other product loads and stores its sum in every step; what this costs was "
                             "not measured."
                           : ""),
           {}});
    }
}

// Jumps of the cost per step between two sizes, and which part of the machine causes them.

/// A time per step that grows by this factor, or misses per step that grow by this number, are a jump.
constexpr double time_jump = 1.5, miss_jump = 0.15;
/// Misses per step that the model counts more of count as a cause from this number on.
constexpr double min_rise = 0.05;

struct MetricName {
  const char *metric, *name;
};
constexpr std::array cost_metrics{MetricName{"seconds", "time"}, MetricName{"PAPI_L1_DCM", "L1 misses"},
                                  MetricName{"PAPI_L2_DCM", "L2 misses"}};
constexpr std::array model_causes{MetricName{"PAPI_TLB_DM", "page walks"},
                                  MetricName{"MODEL_L1_DEMAND_MISSES", "L1 misses of loads and stores"},
                                  MetricName{"MODEL_L1_WALK_MISSES", "L1 misses of page walks"},
                                  MetricName{"PAPI_L2_DCM", "L2 misses"},
                                  MetricName{"PAPI_L3_DCM", "L3 misses"}};

/// The data that loops reuse: a number of rows, of columns (a line per element) and of whole matrices.
struct Footprint {
  const char *variant, *data;
  int rows, columns, matrices;

  [[nodiscard]] double bytes(const Product& p, const model::MachineDescription& machine) const {
    const double row = static_cast<double>(p.n * p.element_bytes());
    return rows * row + columns * static_cast<double>(p.n * machine.levels.front().line) +
           matrices * row * static_cast<double>(p.n);
  }
  /// Of a column; 0: the footprint has none.
  [[nodiscard]] double pages(const Product& p, double page) const {
    const auto row = static_cast<double>(p.n * p.element_bytes());
    return columns * static_cast<double>(p.n) * std::min(1.0, row / page);
  }
};
constexpr std::array footprints{Footprint{"ijk", "the column of b, one line per row", 0, 1, 0},
                                Footprint{"ijk-mem", "the column of b, one line per row", 0, 1, 0},
                                Footprint{"ikj", "a row of b and a row of c", 2, 0, 0},
                                Footprint{"ikj", "the whole of b", 0, 0, 1},
                                Footprint{"ijk", "the whole of b", 0, 0, 1},
                                Footprint{"transposed", "a row of a and a row of the transposed b", 2, 0, 0}};

/// Per step, n^3 of them; of a time in nanoseconds.
std::optional<Quantity> per_step(const ProductGroup& group, const Product& product, const std::string& metric,
                                 const Witness& witness = {}) {
  const auto quantity = group.quantity(product, metric, witness);
  if (!quantity) return {};
  return scaled(*quantity, (metric.ends_with("seconds") ? 1e9 : 1) / (product.operations() / 2));
}

/// A cost per step at two sizes.
struct Step {
  std::string name;
  Quantity from, to;

  [[nodiscard]] double rise() const { return to.value - from.value; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} {} to {}", name, format_number(from.value), format_number(to.value));
  }
};

std::optional<Step> find_step(const ProductGroup& group, const Product& a, const Product& b,
                              const MetricName& metric, const Witness& witness = {}) {
  const auto from = per_step(group, a, metric.metric, witness),
             to = per_step(group, b, metric.metric, witness);
  if (!from || !to || !same_witness(from->witness, to->witness)) return {};
  return Step{metric.name, *from, *to};
}

/// The footprints that exceed a level, or the TLB, between two sizes.
std::vector<std::string> exceeded_capacities(const Product& a, const Product& b,
                                             const model::MachineDescription& machine) {
  std::vector<std::string> found;
  if (machine.levels.empty()) return found;
  for (const Footprint& f : footprints) {
    if (f.variant != a.variant) continue;
    const double bytes_a = f.bytes(a, machine), bytes_b = f.bytes(b, machine);
    for (const auto& level : machine.levels)
      if (const auto size = static_cast<double>(level.size); bytes_a <= size && bytes_b > size)
        found.push_back(fmt::format("{} ({} to {}) exceeds {} ({})", f.data, format_bytes(bytes_a),
                                    format_bytes(bytes_b), level.name, format_bytes(size)));
    if (!machine.tlb || machine.tlb->levels.empty()) continue;
    const auto page = static_cast<double>(machine.tlb->page);
    const std::int64_t entries = machine.tlb->levels.back().entries;
    const double pages_a = f.pages(a, page), pages_b = f.pages(b, page);
    if (pages_a <= static_cast<double>(entries) && pages_b > static_cast<double>(entries))
      found.push_back(fmt::format("{} ({:.0f} to {:.0f} pages) exceeds the {} TLB entries", f.data, pages_a,
                                  pages_b, entries));
  }
  return found;
}

/// The share of the modelled rise of L1 misses that the model loses without its TLB.
std::string tlb_text(const Subject& subject, const Product& a, const Product& b) {
  const MetricName misses{"PAPI_L1_DCM", "L1 misses"};
  const Witness bare = subject.model.with("no-tlb");
  const auto with = find_step(subject.modelled, a, b, misses, subject.model),
             without = find_step(subject.modelled, a, b, misses, bare);
  if (!with || !without || with->rise() < min_rise) return {};
  return fmt::format(" {} with its TLB, {} without: page walks explain {} of this modelled increase.",
                     with->text(), without->text(),
                     format_share(std::clamp(1 - without->rise() / with->rise(), 0.0, 1.0)));
}

/// What the model counts more of, the largest increase first.
std::string model_text(const Subject& subject, const Product& a, const Product& b) {
  std::vector<Step> steps;
  std::vector<std::string> undetermined; // simulated, but not by samples enough
  for (const MetricName& cause : model_causes)
    if (auto step = find_step(subject.modelled, a, b, cause, subject.model))
      steps.push_back(std::move(*step));
    else if (subject.modelled.undetermined(a, cause.metric, subject.model) ||
             subject.modelled.undetermined(b, cause.metric, subject.model))
      undetermined.emplace_back(cause.name);
  if (steps.empty()) return " The cause is open: these sizes were not modelled.";
  std::erase_if(steps, [](const Step& step) { return step.rise() < min_rise; });
  if (steps.empty() && !undetermined.empty())
    return fmt::format(" The cause is open: {} at these sizes were not determined by the model of {}.",
                       fmt::join(undetermined, " and "), subject.machine.name);
  if (steps.empty())
    return fmt::format(" The model of {} has no increase of misses or page walks.", subject.machine.name);
  std::ranges::stable_sort(steps, std::greater{}, &Step::rise);
  std::vector<std::string> texts;
  for (const Step& step : steps)
    texts.push_back(step.text());
  return fmt::format(" Per step in the model of {}, the largest increase first: {}.", subject.machine.name,
                     fmt::join(texts, "; ")) +
         tlb_text(subject, a, b);
}

void add_jump(Findings& findings, const Subject& subject, const Product& a, const Product& b) {
  std::vector<std::string> texts;
  for (const MetricName& cost : cost_metrics) {
    const bool time = cost.metric == std::string_view("seconds");
    const bool by_cpu = time && time_metric(subject.group, a, b) == "cpu_seconds";
    const MetricName metric = by_cpu ? MetricName{"cpu_seconds", "CPU time"} : cost;
    const auto step = find_step(subject.group, a, b, metric);
    if (!step || step->to.witness.modelled() ||
        (time ? step->to.value <= time_jump * step->from.value : step->rise() <= miss_jump))
      continue;
    Quantity comparison{0, step->to.witness};
    comparison.evidence = evidence(step->from, step->to);
    comparison.compared = std::min(step->from.values.size(), step->to.values.size());
    if (comparison.clear())
      texts.push_back(fmt::format("{}{} per step ({}, {})", step->text(), time ? " ns" : "",
                                  format_times(step->to.value / step->from.value),
                                  format_witness(step->to.witness)));
    else
      findings.add_undecided(fmt::format("{} of {}, n = {} and {}", metric.name, loops_name(a), a.n, b.n),
                             comparison);
  }
  if (texts.empty()) return;
  findings.remarks.push_back({fmt::format("Jump in cost: {} between n = {} and {}", loops_name(a), a.n, b.n),
                              fmt::format("{}.", fmt::join(texts, "; ")) + model_text(subject, a, b),
                              exceeded_capacities(a, b, subject.machine)});
}

void add_jumps(Findings& findings, const Subject& subject) {
  for (const Product& loops : subject.group.loops()) {
    if (!loops.build.empty() || loops.variant == "dgemm") continue;
    const auto sizes = subject.group.sizes(loops);
    for (std::size_t i = 1; i < sizes.size(); ++i)
      add_jump(findings, subject, loops.at_size(sizes[i - 1]), loops.at_size(sizes[i]));
  }
}

// Another language against C++ at the largest size of each loops.

/// Only the vectorised C++ build can support vectorisation as the cause, and nothing here proves it.
std::string vectorisation_text(const ProductGroup& group, const Product& plain, const std::string& language,
                               const Quantity& factor) {
  const auto gain = speed_up(group, plain.with_build("vectorised"), plain);
  if (!gain || !gain->clear())
    return " Vectorised C++ was not measured or does not differ, so the cause is open.";
  return fmt::format(" C++ built with {} is {} as fast as the plain build: vectorisation by {} {}.",
                     group.version("vectorised_flags", "-O3 -march=native"), format_times(gain->value),
                     language,
                     factor.low > 1 && factor.value <= gain->high
                         ? "could account for the difference; whether it vectorised was not examined"
                         : "alone does not account for the difference, so the cause is open");
}

void add_languages(Findings& findings, const ProductGroup& group) {
  std::map<Product, Product> largest; // of each language and loops
  for (const auto& [product, metrics] : group.products)
    if (!product.build.empty() && product.build != "vectorised" &&
        speed_up(group, product, product.with_build("")))
      largest[product.at_size(0)] = product; // by ascending size
  for (const auto& [loops, product] : largest) {
    const Product plain = product.with_build("");
    const std::string title = fmt::format("{} compared with C++, n = {}", loops_name(product), product.n);
    const Quantity factor = *speed_up(group, product, plain);
    if (!factor.clear()) {
      findings.add_undecided(title, factor);
      continue;
    }
    const std::string& language = product.build;
    std::string text = fmt::format(
        "{0} takes {1} s and C++ {2} s: {0} is {3} as fast{4}.", language,
        format_number(seconds(group, product)->value), format_number(seconds(group, plain)->value),
        format_times(factor.value),
        factor.low < factor.high ? fmt::format(" [{:.2f}, {:.2f}]", factor.low, factor.high) : "");
    if (!group.published) // else the table's source names compilers, or nobody does
      text += fmt::format(" C++: {}, {}, not vectorised. {}: {}.",
                          group.version("compiler", "compiler not recorded"),
                          group.version("kernel_flags", "flags not recorded"), language,
                          group.version(base::lower_case(language), "version not recorded")) +
              vectorisation_text(group, plain, language, factor);
    findings.remarks.push_back({title, text, {}});
  }
}

void add_capacities(Findings& findings, const Subject& subject) {
  std::set<std::pair<std::int64_t, std::int64_t>> blocks; // rows, bytes of an element
  for (const auto& [product, metrics] : subject.group.products)
    if (product.block > 0 && product.build.empty()) blocks.emplace(product.block, product.element_bytes());
  const auto& levels = subject.machine.levels;
  if (blocks.empty() || levels.empty()) return;
  const std::int64_t element = blocks.rbegin()->second;
  const auto largest = [&](std::int64_t copies) {
    const std::int64_t elements = levels.front().size / copies / element;
    return std::floor(std::sqrt(static_cast<double>(elements)));
  };
  Remark remark{
      "Cache levels that hold a block",
      fmt::format("{0} of {1} holds {2}: one block of {3:.0f} x {3:.0f} elements of {4} bytes, or three "
                  "(of a, b and c) of {5:.0f} x {5:.0f}.",
                  levels.front().name, subject.machine.name, format_bytes(levels.front().size), largest(1),
                  element, largest(3)),
      {}};
  const bool mixed = std::ranges::any_of(blocks, [&](const auto& one) { return one.second != element; });
  for (const auto& [block, bytes] : blocks) {
    const std::int64_t size = block * block * bytes;
    const auto level = std::ranges::find_if(levels, [&](const auto& l) { return size <= l.size; });
    remark.evidence.push_back(fmt::format(
        "block {0} x {0}{4}: {1} each, {2} three; smallest level that fits one: {3}", block,
        format_bytes(size), format_bytes(3 * size),
        level == levels.end() ? fmt::format("none of the {} that are described", levels.size()) : level->name,
        mixed ? fmt::format(" of {} bytes", bytes) : ""));
  }
  // The model of a published table may have the same blocks, and be a group of its own.
  if (!subject.group.published || std::ranges::find(findings.remarks, remark) == findings.remarks.end())
    findings.remarks.push_back(std::move(remark));
}

// Repetitions that break the pattern of the others: reported, and never averaged silently.

/// A repetition this share away from the median of the others is an outlier, provided that it is also further
/// than `outlier_spread` times the whole spread of the others, of which there are `min_others`.
constexpr double outlier_share = 0.10, outlier_spread = 3;
constexpr std::size_t min_others = 3;

void find_outliers(std::vector<std::string>& found, const Product& product,
                   const Metrics::value_type& entry) {
  const auto& [witness, metric] = entry.first;
  const auto& values = entry.second.values;
  if (values.size() <= min_others) return;
  for (const Repeated& one : values) {
    std::vector<double> others;
    for (const Repeated& other : values)
      if (&other != &one) others.push_back(other.value);
    const double median = statistics::median(others), distance = one.value - median;
    const auto [least, most] = std::ranges::minmax(others);
    if (median == 0 || std::abs(distance) < outlier_share * std::abs(median) ||
        std::abs(distance) < outlier_spread * (most - least))
      continue;
    found.push_back(fmt::format("{}, {} {}, repetition {}: {}, {:.0f} % {} the median of the other {}, which "
                                "differ by at most {:.1f} %",
                                product_name(product), metric, format_witness(witness),
                                one.process.repetition + 1,
                                metric.ends_with("seconds") ? format_number(one.value) + " s"
                                                            : format_millions(one.value) + " million",
                                100 * std::abs(distance / median), distance < 0 ? "below" : "above",
                                others.size(), 100 * (most - least) / std::abs(median)));
  }
}

/// The repetition, if it is the only one, in which two metrics of a witness have the same value, not 0: one
/// was probably copied into the column of the other.
void find_equal(std::vector<std::string>& found, const Product& product, const Metrics::value_type& a,
                const Metrics::value_type& b) {
  std::vector<const Repeated*> equal;
  std::size_t different = 0;
  for (const Repeated& one : a.second.values) {
    const auto same = std::ranges::find(b.second.values, one.process, &Repeated::process);
    if (same == b.second.values.end()) continue;
    if (same->value == one.value && one.value != 0)
      equal.push_back(&*same);
    else
      ++different;
  }
  if (equal.size() != 1 || different < 2) return;
  found.push_back(fmt::format("{}, {} {}, repetition {}: {} million, equal to {} in this repetition only",
                              product_name(product), b.first.second, format_witness(b.first.first),
                              equal[0]->process.repetition + 1, format_millions(equal[0]->value),
                              a.first.second));
}

void add_outliers(Findings& findings, const ProductGroup& group) {
  Remark remark{"Outliers", "", {}};
  for (const auto& [product, metrics] : group.products)
    for (auto a = metrics.begin(); a != metrics.end(); ++a) {
      if (a->first.first.modelled() || is_tsc_cycles(a->first.second)) continue; // these are of the same time
      find_outliers(remark.evidence, product, *a);
      for (auto b = std::next(a); b != metrics.end() && b->first.first == a->first.first; ++b)
        find_equal(remark.evidence, product, *a, *b);
    }
  remark.text = fmt::format("{} from the other repetitions. They are included.",
                            base::format_count(remark.evidence.size(), "value differs", "values differ"));
  findings.add_evident(std::move(remark));
}

/// The described machine of a study that nobody measured; empty where there is another witness.
std::string only_machine(const ProductGroup& group) {
  std::set<std::string> machines;
  for (const Witness& witness : group.witnesses) {
    const std::string machine = witness.described_machine().value_or("");
    machines.insert(machine.substr(0, machine.find('~')));
  }
  return machines.size() == 1 ? *machines.begin() : "";
}

/// As stated in the run of a group, or as described.
model::MachineDescription find_machine(const ProductGroup& group) {
  const std::string name = group.version("machine", only_machine(group));
  const bool described = !name.empty() && name != "host";
  if (described)
    if (auto shipped = model::shipped_machine(name)) return *shipped;
  model::MachineDescription machine;
  machine.name = described ? name : "this machine";
  if (group.run)
    for (const auto& cache : group.run->caches) {
      auto& level = machine.levels.emplace_back();
      level.name = cache.level;
      level.size = cache.size;
      level.line = group.line();
    }
  return machine;
}

} // namespace

std::vector<Remark> remarks(const std::vector<ProductGroup>& groups) {
  Findings findings;
  for (const ProductGroup& group : groups) {
    // The model of the machine of this group: its own, or the described machine of a published table.
    const Witness described = group.model_witness();
    const Witness model = !group.published    ? Witness(Witness::model)
                          : described.empty() ? Witness(Witness::model, "unknown")
                                              : described;
    const auto by_model =
        std::ranges::find_if(groups, [&](const ProductGroup& g) { return g.has_witness(model); });
    const Subject subject{group, group.published && by_model != groups.end() ? *by_model : group, model,
                          find_machine(group)};
    add_misses_out_of_order(findings, subject);
    if (group.published)
      for (const ProductGroup& other : groups)
        for (const auto& witness : other.witnesses)
          if (const auto machine = model::shipped_machine(witness.described_machine().value_or("")))
            add_parts_of_presets(findings, group, other, witness, *machine);
    add_transposition(findings, group);
    add_faster_with_fewer_hits(findings, subject);
    add_jumps(findings, subject);
    add_languages(findings, group);
    add_capacities(findings, subject);
    add_outliers(findings, group);
  }
  findings.add_evident(
      {"Differences that are not stated",
       fmt::format(
           "A difference is stated only if the 95 % intervals of both medians are disjoint and Welch's "
           "t test rejects equality at the level {}.",
           statistics::comparison_level),
       std::move(findings.undecided)});
  return std::move(findings.remarks);
}

std::vector<document::Block> remark_blocks(const std::vector<ProductGroup>& groups) {
  std::vector<document::Block> blocks;
  for (Remark& remark : remarks(groups)) {
    blocks.emplace_back(document::Heading{std::move(remark.title), 2});
    blocks.emplace_back(document::Paragraph{std::move(remark.text)});
    if (!remark.evidence.empty()) blocks.emplace_back(document::List{std::move(remark.evidence)});
  }
  return blocks;
}

} // namespace recount::matmul
