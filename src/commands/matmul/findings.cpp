#include "commands/matmul/matmul_tables.hpp"

#include "base/format.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/drop.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace recount::matmul {
namespace {

using base::format_bytes;
using base::format_millions;
using base::format_number;
using base::format_share;

/// What the findings on one group are made from.
struct Subject {
  const ProductGroup& group;
  const ProductGroup& modelled;      ///< the group with the values of `model`: often the same
  Witness model;                     ///< the witness that models the machine of the group
  model::MachineDescription machine; ///< of the group; its levels may be those that the system states
};
using Findings = std::vector<Finding>;

std::string product_name(const Product& product) {
  return fmt::format("{}, n = {}", loops_name(product), product.n);
}

/// "2.0 times" of a factor, as its cell shows it.
std::string times_text(const Fact& factor) {
  return format_factor(factor.value()) + " times";
}

/// Native events that count more than demand accesses (Intel 64 and IA-32 Architectures Software Developer's
/// Manual, volume 3, and its lists of events).
constexpr std::array<std::pair<const char*, const char*>, 4> event_rows{
    {{"LLC_REFERENCES", "every request of the core to the last level, including hardware prefetches"},
     {"L2_RQSTS:MISS", "requests of the L2 prefetcher and of L1"},
     {"L2_LINES_IN", "every line filled into L2, including prefetches"},
     {"L1D:REPLACEMENT", "lines filled into L1, not what the L2 prefetcher fetches into L2"}}};

/// The formula of a preset on the CPU that counted, and what its events count.
std::string preset_text(const ProductGroup& group, const std::string& preset) {
  if (!group.run || !group.run->presets.contains(preset))
    return fmt::format("; see recount presets {} --pmu NAME", preset);
  const std::string& formula = group.run->presets.at(preset);
  std::string text = fmt::format("; {} = {}", preset, formula);
  for (const auto& [event, counts] : event_rows)
    if (formula.find(event) != std::string::npos) text += fmt::format(", {} counts {}", event, counts);
  return text;
}

/// Misses of L2 that exceed those of L1.
void add_misses_out_of_order(Findings& findings, const Subject& subject) {
  constexpr double excess_share = 1.02; // counts of different passes differ a little
  const ProductGroup& group = subject.group;
  std::size_t compared = 0, more = 0;
  double worst = 0;
  std::string example;
  bool dead = true; // L1, in every product
  for (const auto& [product, metrics] : group.products)
    for (const Witness::Kind witness : {Witness::perf, Witness::papi, Witness::published}) {
      const Fact l1 = fact(group, product, "PAPI_L1_DCM", witness),
                 l2 = fact(group, product, "PAPI_L2_DCM", witness);
      if (!l1.known() || !l2.known()) continue;
      ++compared;
      dead = dead && l1.value() == 0;
      if (l2.value() <= excess_share * l1.value() ||
          evidence(*l1.quantity, *l2.quantity) != statistics::Evidence::clear)
        continue;
      ++more;
      if (l2.value() <= worst) continue;
      worst = l2.value();
      example = fmt::format("{}: {} against {} million, {}", product_name(product), l2.text(), l1.text(),
                            describe(witness));
    }
  if (more == 0) return;
  if (dead)
    findings.push_back(
        {"PAPI_L1_DCM counted nothing",
         fmt::format("PAPI_L1_DCM counted nothing in {}, though each misses in L1: no hit rate "
                     "of L1 follows from it.",
                     base::format_count(compared, "product"))});
  else
    findings.push_back(
        {"More misses in L2 than in L1",
         fmt::format("PAPI_L2_DCM exceeds PAPI_L1_DCM in {} of {} ({}){}.", more,
                     base::format_count(compared, "product"), example, preset_text(group, "PAPI_L2_DCM"))});
}

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

/// What the presets of a published table consist of, by a model that describes what they count: of the
/// largest product all of whose parts were modelled.
void add_parts_of_presets(Findings& findings, const ProductGroup& published, const ProductGroup& modelled,
                          const Witness& model, const model::MachineDescription& machine) {
  for (const auto& [preset, sum] : machine.presets) {
    std::string text;
    for (const auto& [product, metrics] : published.products) {
      const Fact reference = fact(published, product, preset, Witness::published),
                 value = fact(modelled, product, preset, model), over = ratio(value, reference);
      if (!over.known()) continue;
      std::vector<std::string> shares;
      for (const auto& [metric, factor] : sum)
        if (const auto part = modelled.quantity(product, metric, model))
          shares.push_back(part_name(metric) + " " +
                           format_share(static_cast<double>(factor) * part->value / value.value()));
      if (shares.size() == sum.size())
        text = fmt::format("{} of {} is modelled as {} ({}: {} times the published {} million).", preset,
                           machine.name, fmt::join(shares, ", "), product_name(product), over.text(),
                           reference.text());
    }
    if (!text.empty()) findings.push_back({"Parts of " + preset, text});
  }
}

void add_transposition(Findings& findings, const ProductGroup& group) {
  for (const auto& [with, metrics] : group.products) {
    if (!with.transposes || !with.build.empty()) continue;
    Product without = with;
    without.transposes = false;
    const Fact time = comparison(group, with, without, time_metric(group, with, without)),
               rate = comparison(group, with, without, "L1_HIT_RATE");
    std::vector<std::string> parts;
    if (time.clear())
      parts.push_back(fmt::format("the {} by {:+.1f} %", time.metric == "cpu_seconds" ? "CPU time" : "time",
                                  100 * (1 / time.value() - 1)));
    if (rate.clear())
      parts.push_back(
          fmt::format("the L1 hit rate by {} points, {}", rate.text(), describe(rate.quantity->witness)));
    if (!parts.empty())
      findings.push_back(
          {cost_of_transposition, fmt::format("Including the transposition changes {}, n = {}.",
                                              fmt::join(parts, " and "), with.n)});
  }
}

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
    if (row.element == product.element && row.variant == product.variant && product.build.empty())
      references.push_back(product.with_variant(row.reference));
  return references;
}

/// What a miss of L2 costs at most, in ns: in a third level that holds the matrices, and in memory. Larger
/// than the load-to-use latencies of the described machines (26 to 50 cycles of an L3) and of common memory,
/// so that the share of a difference that is computed from it is an upper bound.
constexpr double max_of_hit = 25, max_of_memory = 150;

/// Whether a level below L2 holds all three matrices.
bool below_l2_fits(const Product& product, const model::MachineDescription& machine) {
  const std::int64_t bytes = 3 * product.n * product.n * product.element_bytes();
  return std::ranges::any_of(machine.levels | ranges::views::drop(2),
                             [&](const auto& level) { return bytes <= level.size; });
}

/// How much of the difference in time between `a` and the slower `b` the misses of L2 can explain.
std::string effect_of_l2(const Subject& subject, const Product& a, const Product& b, const Witness& witness,
                         const std::string& time) {
  const Fact misses_a = fact(subject.group, a, "PAPI_L2_DCM", witness),
             misses_b = fact(subject.group, b, "PAPI_L2_DCM", witness);
  if (!misses_a.known() || !misses_b.known() ||
      evidence(*misses_a.quantity, *misses_b.quantity) != statistics::Evidence::clear)
    return "the cause is open";
  const double fewer = misses_b.value() - misses_a.value(),
               saved = fact(subject.group, b, time).value() - fact(subject.group, a, time).value();
  if (fewer <= 0)
    return fmt::format("L2 does not explain it ({} million misses, {} of the other)", misses_a.text(),
                       misses_b.text());
  const double each = below_l2_fits(a, subject.machine) ? max_of_hit : max_of_memory,
               share = fewer * each * 1e-9 / saved;
  const Fact rate_a = fact(subject.group, a, "L2_HIT_RATE", witness),
             rate_b = fact(subject.group, b, "L2_HIT_RATE", witness);
  const std::string what = fmt::format("its {} million fewer L2 misses (L2 hit rates {} and {})",
                                       format_millions(fewer), rate_a.text(), rate_b.text());
  if (share >= 1) return what + " may be the cause"; // an upper bound that excludes nothing
  return fmt::format("{}, at {:.0f} ns each, explain at most {:.0f} % of the {} s", what, each, 100 * share,
                     format_number(saved));
}

/// What the sum in memory of a slower product costs, where the same loops with it in a register were
/// measured.
std::string effect_of_register(const ProductGroup& group, const Product& slower) {
  const Product in_memory = slower.with_variant("ijk-mem"), in_register = slower.with_variant("ijk");
  if (slower.element != "i16" || slower.block > 0) return {};
  const Fact gain = comparison(group, in_register, in_memory, time_metric(group, in_register, in_memory));
  if (!gain.clear() || gain.value() <= 1) return {};
  return fmt::format("; the sum in a register, not in memory, makes {} {} as fast (measured)",
                     loops_name(in_memory), times_text(gain));
}

/// Products that are faster than what they are compared with though fewer of their accesses hit L1: the
/// fastest of each reference.
void add_faster_with_fewer_hits(Findings& findings, const Subject& subject) {
  std::map<Product, std::pair<double, Finding>> fastest;
  for (const auto& [product, metrics] : subject.group.products)
    for (const Product& reference : list_references(product)) {
      const std::string by = time_metric(subject.group, product, reference);
      const Fact time = comparison(subject.group, product, reference, by),
                 rate = comparison(subject.group, product, reference, "L1_HIT_RATE");
      if (!time.clear() || !rate.clear() || time.value() <= 1 || rate.value() >= 0) continue;
      auto& [factor, finding] = fastest[reference];
      if (time.value() <= factor) continue;
      factor = time.value();
      const Witness witness = rate.quantity->witness;
      finding = {faster_with_fewer_hits,
                 fmt::format(
                     "{} is {} as fast as {}{}, n = {}, though its L1 hit rate is {} points lower, {}: {}{}.",
                     loops_name(product), times_text(time), loops_name(reference),
                     by == "cpu_seconds" ? " by CPU time" : "", product.n, rate.text().substr(1),
                     describe(witness), effect_of_l2(subject, product, reference, witness, by),
                     effect_of_register(subject.group, reference)),
                 {product, reference}};
    }
  for (auto& [reference, found] : fastest)
    findings.push_back(std::move(found.second));
}

// Jumps of the cost per step between two sizes, and which part of the machine causes them.

/// A time per step that grows by this factor, or misses per step that grow by this number, are a jump.
constexpr double time_jump = 1.5, miss_jump = 0.15;
/// Misses per step that the model counts more of count as a cause from this number on.
constexpr double min_rise = 0.05;

struct MetricName {
  const char *metric, *name;
};
constexpr std::array model_causes{MetricName{"PAPI_TLB_DM", "page walks"},
                                  MetricName{"MODEL_L1_DEMAND_MISSES", "L1 misses of loads and stores"},
                                  MetricName{"MODEL_L1_WALK_MISSES", "L1 misses of page walks"},
                                  MetricName{"PAPI_L2_DCM", "L2 misses"},
                                  MetricName{"PAPI_L3_DCM", "L3 misses"}};

/// A cost per step, n^3 of them, at two sizes; of a time in nanoseconds.
struct Step {
  std::string name;
  Quantity from, to;

  [[nodiscard]] double rise() const { return to.value - from.value; }
  [[nodiscard]] std::string range() const {
    return fmt::format("from {} to {}", format_number(from.value), format_number(to.value));
  }
};

std::optional<Step> find_step(const ProductGroup& group, const Product& a, const Product& b,
                              const MetricName& metric, const Witness& witness = {}) {
  const auto per_step = [&](const Product& product) -> std::optional<Quantity> {
    const auto found = group.quantity(product, metric.metric, witness);
    const double unit = std::string_view(metric.metric).ends_with("seconds") ? 1e9 : 1;
    return found ? std::optional(scaled(*found, unit / (product.operations() / 2))) : std::nullopt;
  };
  const auto from = per_step(a), to = per_step(b);
  if (!from || !to || !same_witness(from->witness, to->witness)) return {};
  return Step{metric.name, *from, *to};
}

/// What the model counts more of: the largest increase, and what is left of it without the TLB.
std::string cause_text(const Subject& subject, const Product& a, const Product& b) {
  std::optional<Step> largest;
  bool modelled = false;
  for (const MetricName& cause : model_causes) {
    const auto step = find_step(subject.modelled, a, b, cause, subject.model);
    modelled = modelled || step;
    if (!step && (subject.modelled.undetermined(a, cause.metric, subject.model) ||
                  subject.modelled.undetermined(b, cause.metric, subject.model)))
      return fmt::format("; the cause is open: the samples do not determine {}", cause.name);
    if (step && step->rise() >= min_rise && (!largest || step->rise() > largest->rise())) largest = step;
  }
  if (!largest)
    return modelled ? "; the model has no increase of misses or page walks" : "; the cause is open";
  std::string text = fmt::format("; the model has {} {}", largest->name, largest->range());
  const MetricName misses{"PAPI_L1_DCM", "L1 misses"};
  const auto with = find_step(subject.modelled, a, b, misses, subject.model),
             without = find_step(subject.modelled, a, b, misses, subject.model.with("no-tlb"));
  if (with && without && with->rise() >= min_rise)
    text += fmt::format(", and without its TLB {:.0f} % less of the increase of L1 misses",
                        100 * std::clamp(1 - without->rise() / with->rise(), 0.0, 1.0));
  return text;
}

void add_jump(Findings& findings, const Subject& subject, const Product& a, const Product& b) {
  const std::string time = time_metric(subject.group, a, b);
  const std::array costs{MetricName{time.c_str(), time == "seconds" ? "the time" : "the CPU time"},
                         MetricName{"PAPI_L1_DCM", "L1 misses"}, MetricName{"PAPI_L2_DCM", "L2 misses"}};
  for (const MetricName& cost : costs) {
    const bool timed = cost.metric == time;
    const auto step = find_step(subject.group, a, b, cost);
    if (!step || step->to.witness.modelled() ||
        (timed ? step->to.value <= time_jump * step->from.value : step->rise() <= miss_jump) ||
        evidence(step->from, step->to) != statistics::Evidence::clear)
      continue;
    findings.push_back({"Jump in cost", fmt::format("Between n = {} and {}, {} per step of {} rises {}{}{}.",
                                                    a.n, b.n, cost.name, loops_name(a), step->range(),
                                                    timed ? " ns" : "", cause_text(subject, a, b))});
    return; // the first of the costs that jumps
  }
}

void add_jumps(Findings& findings, const Subject& subject) {
  for (const Product& loops : subject.group.loops()) {
    if (!loops.build.empty() || loops.variant == "dgemm") continue;
    const auto sizes = subject.group.sizes(loops);
    for (std::size_t i = 1; i < sizes.size(); ++i)
      add_jump(findings, subject, loops.at_size(sizes[i - 1]), loops.at_size(sizes[i]));
  }
}

/// Another language against C++ at the largest size of each loops.
void add_languages(Findings& findings, const ProductGroup& group) {
  std::map<Product, Fact> largest; // of each language and loops
  for (const auto& [product, metrics] : group.products)
    if (!product.build.empty() && product.build != "vectorised")
      if (const Fact factor = comparison(group, product, product.with_build(""), "seconds"); factor.known())
        largest.insert_or_assign(product.at_size(0), factor); // by ascending size
  for (const auto& [loops, factor] : largest) {
    if (!factor.clear()) continue;
    const Product plain = factor.product.with_build("");
    const Fact gain = comparison(group, plain.with_build("vectorised"), plain, "seconds");
    findings.push_back(
        {"Languages",
         fmt::format("{} takes {} s and C++ {} s for {}, n = {}: {} is {} as fast{}.", loops.build,
                     fact(group, factor.product, "seconds").text(), fact(group, plain, "seconds").text(),
                     loops_name(plain), plain.n, loops.build, times_text(factor),
                     gain.clear() ? fmt::format(", vectorised C++ is {}", times_text(gain)) : "")});
  }
}

void add_capacities(Findings& findings, const Subject& subject) {
  std::set<std::pair<std::int64_t, std::int64_t>> blocks; // bytes of an element, rows
  for (const auto& [product, metrics] : subject.group.products)
    if (product.block > 0 && product.build.empty()) blocks.emplace(product.element_bytes(), product.block);
  const auto& levels = subject.machine.levels;
  if (blocks.empty() || levels.empty()) return;
  const auto [element, rows] = *blocks.rbegin();
  const auto largest = [&, element = element](std::int64_t copies) {
    const std::int64_t elements = levels.front().size / copies / element;
    return std::floor(std::sqrt(static_cast<double>(elements)));
  };
  const std::int64_t bytes = rows * rows * element;
  const auto level = std::ranges::find_if(levels, [&](const auto& l) { return bytes <= l.size; });
  Finding finding{
      "Blocks and caches",
      fmt::format(
          "{} of {} ({}) holds one block of {}-byte elements of at most {:.0f} rows, or three of {:.0f}; "
          "one of {} rows has {} and fits {}.",
          levels.front().name, subject.machine.name, format_bytes(levels.front().size), element, largest(1),
          largest(3), rows, format_bytes(bytes), level == levels.end() ? "no described level" : level->name)};
  // The model of a published table may have the same blocks, and be a group of its own.
  if (std::ranges::find(findings, finding) == findings.end()) findings.push_back(std::move(finding));
}

// Repetitions that break the pattern of the others: reported, and never averaged silently.

/// Outliers closer to the median than this share of it are not worth a sentence.
constexpr double outlier_share = 0.10;

using Outliers = std::multimap<double, std::string>; ///< the furthest first

void find_outliers(Outliers& found, const Product& product, const Metrics::value_type& entry) {
  const auto& [witness, metric] = entry.first;
  const auto& all = entry.second.values;
  const auto values = all | ranges::views::transform(&Repeated::value) | ranges::to<std::vector<double>>();
  for (const std::size_t i : statistics::outliers(values)) {
    const double median = entry.second.summary->median, share = std::abs(values[i] / median - 1);
    if (median == 0 || share < outlier_share) continue;
    found.emplace(-share,
                  fmt::format("Repetition {} of {} is an outlier: {} {} is {:.0f} % {} the median of {} "
                              "({}); it is included.",
                              all[i].process.repetition + 1, product_name(product), metric,
                              metric.ends_with("seconds") ? format_number(values[i]) + " s"
                                                          : format_millions(values[i]) + " million",
                              100 * share, values[i] < median ? "below" : "above", values.size(),
                              describe(witness)));
  }
}

/// The repetition, if it is the only one, in which two metrics of a witness have the same value, not 0: one
/// was probably copied into the column of the other.
void find_equal(Outliers& found, const Product& product, const Metrics::value_type& a,
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
  if (equal.size() == 1 && different > 1)
    found.emplace(-1e300, fmt::format("Repetition {} of {} is an outlier: {} is equal to {} in it only ({}).",
                                      equal[0]->process.repetition + 1, product_name(product), b.first.second,
                                      a.first.second, describe(b.first.first)));
}

void add_outliers(Findings& findings, const ProductGroup& group) {
  constexpr std::size_t shown = 3;
  Outliers found;
  for (const auto& [product, metrics] : group.products)
    for (auto a = metrics.begin(); a != metrics.end(); ++a) {
      const std::string& metric = a->first.second;
      if (a->first.first.modelled() || metric == "tsc_cycles" || metric == "cpu_seconds") continue;
      find_outliers(found, product, *a);
      for (auto b = std::next(a); b != metrics.end() && b->first.first == a->first.first; ++b)
        find_equal(found, product, *a, *b);
    }
  for (const auto& [share, text] : found | ranges::views::take(shown))
    findings.push_back({"Outliers", text});
  if (found.size() > shown)
    findings.push_back({"Outliers", fmt::format("{} of single repetitions are outliers; see all values.",
                                                base::format_count(found.size() - shown, "more value"))});
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

std::vector<Finding> findings(const std::vector<ProductGroup>& groups) {
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
    add_faster_with_fewer_hits(findings, subject);
    add_transposition(findings, group);
    add_misses_out_of_order(findings, subject);
    if (group.published)
      for (const ProductGroup& other : groups)
        for (const auto& witness : other.witnesses)
          if (const auto machine = model::shipped_machine(witness.described_machine().value_or("")))
            add_parts_of_presets(findings, group, other, witness, *machine);
    add_jumps(findings, subject);
    add_languages(findings, group);
    add_capacities(findings, subject);
    add_outliers(findings, group);
  }
  return findings;
}

} // namespace recount::matmul
