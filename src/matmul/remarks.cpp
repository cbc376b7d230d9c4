#include "matmul/remarks.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "matmul/derived.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

// Remarks on jumps of the cost per step between sizes, and on the levels that blocks fit.
namespace recount::matmul {
namespace {

/// A time per step that grows by this factor, or misses per step that grow by this number, are a jump.
constexpr double time_jump = 1.5, miss_jump = 0.15;

struct Measured {
  const char *metric, *what;
  bool time;
};
constexpr std::array measured_metrics{Measured{"seconds", "time", true},
                                      Measured{"PAPI_L1_DCM", "L1 misses", false},
                                      Measured{"PAPI_L2_DCM", "L2 misses", false}};
struct Cause {
  const char *metric, *what;
};
constexpr std::array model_causes{Cause{"PAPI_TLB_DM", "page walks"},
                                  Cause{"MODEL_L1_DEMAND_MISSES", "L1 misses of loads and stores"},
                                  Cause{"MODEL_L1_WALK_MISSES", "L1 misses of page walks"},
                                  Cause{"PAPI_L2_DCM", "L2 misses"}, Cause{"PAPI_L3_DCM", "L3 misses"}};

/// The data that loops reuse, in bytes and pages, as a function of n.
struct Footprint {
  const char *variant, *what;
  double (*bytes)(const Product& product, const Capacities& machine); ///< of cache lines
  double (*pages)(const Product& product, const Capacities& machine);
};
double row_bytes(const Product& p) {
  return static_cast<double>(p.n * p.element_bytes());
}
double column_pages(const Product& p, const Capacities& m) {
  const auto n = static_cast<double>(p.n);
  return n * std::min(1.0, row_bytes(p) / static_cast<double>(m.page));
}
double matrix_bytes(const Product& p) {
  return static_cast<double>(p.n) * row_bytes(p);
}
constexpr std::array footprints{
    Footprint{"ijk", "the column of b, one line per row",
              [](const Product& p, const Capacities& m) { return static_cast<double>(p.n * m.line); },
              [](const Product& p, const Capacities& m) { return column_pages(p, m); }},
    Footprint{"ijk-mem", "the column of b, one line per row",
              [](const Product& p, const Capacities& m) { return static_cast<double>(p.n * m.line); },
              [](const Product& p, const Capacities& m) { return column_pages(p, m); }},
    Footprint{"ikj", "a row of b and a row of c",
              [](const Product& p, const Capacities&) { return 2 * row_bytes(p); }, nullptr},
    Footprint{"ikj", "the whole of b", [](const Product& p, const Capacities&) { return matrix_bytes(p); },
              nullptr},
    Footprint{"ijk", "the whole of b", [](const Product& p, const Capacities&) { return matrix_bytes(p); },
              nullptr},
    Footprint{"transposed", "a row of a and a row of the transposed b",
              [](const Product& p, const Capacities&) { return 2 * row_bytes(p); }, nullptr},
};

/// Per step, n^3 of them, by one witness or by the preferred one; of a time in nanoseconds.
std::optional<Quantity> per_step(const Products& group, const Product& product, const Measured& metric,
                                 const Witness& witness = {}) {
  const auto at = group.of.find(product);
  if (at == group.of.end()) return {};
  const auto quantity = central(at->second, metric.metric, witness);
  if (!quantity) return {};
  return scaled(*quantity, (metric.time ? 1e9 : 1) / (product.operations() / 2));
}

struct Jump {
  const Measured* metric;
  Quantity from, to;
  bool clear = true; ///< else not distinguishable from noise
};

std::vector<Jump> jumps(const Products& group, const Product& a, const Product& b) {
  std::vector<Jump> found;
  for (const Measured& metric : measured_metrics) {
    const auto from = per_step(group, a, metric), to = per_step(group, b, metric);
    if (!from || !to || from->witness != to->witness || from->witness.modelled()) continue;
    const bool jumped =
        metric.time ? to->value > time_jump * from->value : to->value > from->value + miss_jump;
    if (jumped) found.push_back({&metric, *from, *to, evidence(*from, *to) == statistics::Evidence::clear});
  }
  return found;
}

std::string jump_text(const Jump& jump) {
  if (jump.metric->time)
    return fmt::format("time {} to {} ns per step ({}, {})", base::format_number(jump.from.value),
                       base::format_number(jump.to.value),
                       base::format_times(jump.to.value / jump.from.value),
                       base::format_witness(jump.to.witness));
  return fmt::format("{} {} to {} per step ({})", jump.metric->what, base::format_number(jump.from.value),
                     base::format_number(jump.to.value), base::format_witness(jump.to.witness));
}

/// The footprints that exceed a level between two sizes.
std::vector<std::string> outgrown(const Product& a, const Product& b, const Capacities& machine) {
  std::vector<std::string> found;
  for (const Footprint& f : footprints) {
    if (f.variant != a.variant) continue;
    for (const auto& level : machine.levels) {
      const auto capacity = static_cast<double>(level.bytes);
      if (f.bytes(a, machine) <= capacity && f.bytes(b, machine) > capacity)
        found.push_back(
            fmt::format("{} ({} to {}) exceeds {} ({})", f.what, base::format_bytes(f.bytes(a, machine)),
                        base::format_bytes(f.bytes(b, machine)), level.name, base::format_bytes(capacity)));
    }
    if (!f.pages || !machine.tlb_pages) continue;
    const auto entries = static_cast<double>(*machine.tlb_pages);
    if (f.pages(a, machine) <= entries && f.pages(b, machine) > entries)
      found.push_back(fmt::format("{} ({:.0f} to {:.0f} pages) exceeds the {} TLB entries", f.what,
                                  f.pages(a, machine), f.pages(b, machine), *machine.tlb_pages));
  }
  return found;
}

/// What the model counts more of, the largest first.
struct Risen {
  std::string text;
  double by = 0;
  bool walks = false;
};
std::vector<Risen> risen(const Products& modelled, const Witness& model, const Product& a, const Product& b) {
  std::vector<Risen> found;
  for (const Cause& cause : model_causes) {
    const Measured metric{cause.metric, cause.what, false};
    const auto from = per_step(modelled, a, metric, model), to = per_step(modelled, b, metric, model);
    if (!from || !to || to->value < from->value + 0.05) continue;
    found.push_back({fmt::format("{} {} to {} per step", cause.what, base::format_number(from->value),
                                 base::format_number(to->value)),
                     to->value - from->value, std::string_view(cause.metric) == "PAPI_TLB_DM"});
  }
  std::ranges::stable_sort(found, std::greater{}, &Risen::by);
  return found;
}

/// Whether the TLB causes the jump of L1 misses: the model has it with its TLB and not without.
std::string tlb_text(const Products& modelled, const Witness& model, const Product& a, const Product& b) {
  const Measured misses{"PAPI_L1_DCM", "L1 misses", false};
  const std::string machine = model.machine();
  const auto with_a = per_step(modelled, a, misses, model), with_b = per_step(modelled, b, misses, model);
  const auto bare_a = per_step(modelled, a, misses, {Witness::model, machine + "~no-tlb"}),
             bare_b = per_step(modelled, b, misses, {Witness::model, machine + "~no-tlb"});
  if (!with_a || !with_b || !bare_a || !bare_b) return {};
  const double with = with_b->value - with_a->value, bare = bare_b->value - bare_a->value;
  if (with < 0.05) return {};
  const std::string numbers =
      fmt::format("L1 misses {} to {} per step with its TLB, {} to {} without",
                  base::format_number(with_a->value), base::format_number(with_b->value),
                  base::format_number(bare_a->value), base::format_number(bare_b->value));
  if (bare < 0.5 * with) return " The TLB causes it: the model has " + numbers + ".";
  return " The TLB is not the only cause: the model has " + numbers + ".";
}

bool modelled_at(const Products& modelled, const Witness& model, const Product& product) {
  return std::ranges::any_of(model_causes, [&](const Cause& cause) {
    return per_step(modelled, product, {cause.metric, cause.what, false}, model).has_value();
  });
}

Remark cliff(const Products& modelled, const Witness& model, const Capacities& machine, const Product& a,
             const Product& b, const std::vector<Jump>& jumped) {
  Remark remark;
  remark.title = fmt::format("Jump in cost: {} between n = {} and {}", loops_name(a), a.n, b.n);
  std::vector<std::string> lines;
  for (const Jump& jump : jumped)
    lines.push_back(jump_text(jump));
  remark.text = fmt::format("From n = {} to {}: {}.", a.n, b.n, fmt::join(lines, "; "));
  const auto rise = risen(modelled, model, a, b);
  if (!modelled_at(modelled, model, a) || !modelled_at(modelled, model, b)) {
    remark.text += " Its cause is open: these sizes were not modelled.";
  } else if (rise.empty()) {
    remark.text += fmt::format(
        " No effect in the model of the caches of {}: misses and page walks per step rise by less than 0.05.",
        machine.machine);
  } else {
    std::vector<std::string> texts;
    for (const Risen& r : rise)
      texts.push_back(r.text);
    remark.text += fmt::format(" In the model of {}: {}.", machine.machine, fmt::join(texts, "; "));
    remark.text += tlb_text(modelled, model, a, b);
    if (rise.front().walks)
      remark.text += " The largest increase is in page walks: the TLB limits the time, not a cache.";
  }
  remark.evidence = outgrown(a, b, machine);
  return remark;
}

Remark undecided_jump(const Product& a, const Product& b, const Jump& jump) {
  Quantity comparison{0, jump.to.witness};
  comparison.evidence = evidence(jump.from, jump.to);
  comparison.compared = std::min(jump.from.values.size(), jump.to.values.size());
  return undecided(fmt::format("{} of {}, n = {} and {}", jump.metric->what, loops_name(a), a.n, b.n),
                   comparison);
}

} // namespace

std::vector<Remark> cliffs(const Products& measured, const Products& modelled, const Witness& model,
                           const Capacities& machine) {
  std::vector<Remark> all;
  for (const Product& loops : measured.loops()) {
    if (!loops.build.empty() || loops.variant == "dgemm") continue;
    const auto sizes = measured.sizes(loops);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      const Product a = at_size(loops, sizes[i - 1]), b = at_size(loops, sizes[i]);
      auto jumped = jumps(measured, a, b);
      for (const Jump& jump : jumped)
        if (!jump.clear) all.push_back(undecided_jump(a, b, jump));
      std::erase_if(jumped, [](const Jump& jump) { return !jump.clear; });
      if (!jumped.empty()) all.push_back(cliff(modelled, model, machine, a, b, jumped));
    }
  }
  return all;
}

std::vector<Remark> conflicts(const Products& modelled, const Witness& model) {
  constexpr double most = 1.25; ///< of the misses without conflicts
  const std::string machine = model.machine();
  Remark remark;
  for (const auto& [product, metrics] : modelled.of) {
    const auto misses = central(metrics, "PAPI_L1_DCM", model),
               free = central(metrics, "PAPI_L1_DCM", {Witness::model, machine + "~full"});
    if (!misses || !free || misses->value <= most * free->value) continue;
    remark.evidence.push_back(fmt::format(
        "{}, n = {}: {} million L1 misses, {} million with a fully associative L1", loops_name(product),
        product.n, base::format_millions(misses->value), base::format_millions(free->value)));
  }
  if (remark.evidence.empty()) return {};
  remark.title = "Conflict misses: lines that map to few sets";
  remark.text = "At these sizes L1 misses although the data fit: the row length is a multiple of a few sets, "
                "so a column "
                "maps to the same sets repeatedly. Multiples of powers of two are the worst; padding each "
                "row by one line, or "
                "blocking, avoids it.";
  return {remark};
}

std::vector<Remark> blocks_that_fit(const Products& group, const Capacities& machine) {
  std::set<std::pair<std::int64_t, std::int64_t>> blocks; // rows, bytes of an element
  for (const auto& [product, metrics] : group.of)
    if (product.block > 0 && product.build.empty()) blocks.emplace(product.block, product.element_bytes());
  if (blocks.empty() || machine.levels.empty()) return {};
  Remark remark;
  remark.title = "Levels that blocks fit";
  const auto& l1 = machine.levels.front();
  const auto largest = [&](double copies, std::int64_t element) {
    return std::floor(std::sqrt(static_cast<double>(l1.bytes) / copies / static_cast<double>(element)));
  };
  const std::int64_t element = blocks.rbegin()->second;
  remark.text =
      fmt::format("{} of {} holds {}: one block of {:.0f} x {:.0f} elements of {} bytes, or three (of a, b "
                  "and c) of {:.0f} x {:.0f}.",
                  l1.name, machine.machine, base::format_bytes(l1.bytes), largest(1, element),
                  largest(1, element), element, largest(3, element), largest(3, element));
  for (const auto& [block, bytes] : blocks) {
    const double size = static_cast<double>(block * block * bytes);
    std::string where;
    for (auto level = machine.levels.rbegin(); level != machine.levels.rend(); ++level)
      if (size <= static_cast<double>(level->bytes)) where = level->name;
    remark.evidence.push_back(fmt::format("block {} x {}: {} each, {} three; {}", block, block,
                                          base::format_bytes(size), base::format_bytes(3 * size),
                                          where.empty() ? "no level of " + machine.machine + " fits one"
                                                        : "smallest level that fits one: " + where));
  }
  return {remark};
}

namespace {

std::string version_of(const Products& group, const std::string& name, const std::string& otherwise) {
  if (!group.run) return otherwise;
  const auto found = group.run->versions.find(name);
  return found == group.run->versions.end() ? otherwise : found->second;
}

std::string lower(std::string word) {
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

/// Vectorisation as the cause: only the C++ build with it can support that, and nothing here proves it.
std::string vectorisation(const Products& group, const Product& other, const Product& plain,
                          const Quantity& factor) {
  Product vectorised = plain;
  vectorised.build = "vectorised";
  const auto gain = compare(group, vectorised, plain).by_time;
  if (!gain || !gain->clear())
    return " Vectorised C++ was not measured or does not differ from the plain build, so the cause is open.";
  std::string text = fmt::format(" The same C++ loops built with {} are {} as fast as the plain build.",
                                 version_of(group, "vectorised_flags", "-O3 -march=native"),
                                 base::format_times(gain->value));
  if (factor.low > 1 && factor.value <= gain->high)
    return text +
           fmt::format(" Vectorisation by the compiler of {} could account for the difference; whether it "
                       "vectorised these loops was not examined.",
                       other.build);
  return text +
         fmt::format(" The loops of {} are outside of the range between the two C++ builds, so vectorisation "
                     "alone does not account for the difference, and the cause is open.",
                     other.build);
}

Remark remark_on(const Products& group, const Product& other, const Product& plain, const Quantity& factor) {
  Remark remark;
  remark.title = fmt::format("{} compared with C++, n = {}", loops_name(other), other.n);
  remark.text = fmt::format(
      "{} takes {} s and C++ {} s: {} is {} as fast{}.", other.build,
      base::format_seconds(seconds(group, other)->value), base::format_seconds(seconds(group, plain)->value),
      other.build, base::format_times(factor.value),
      factor.low < factor.high ? fmt::format(" [{:.2f}, {:.2f}]", factor.low, factor.high) : "");
  if (group.published) return remark; // the table's source names compilers, or nobody does
  remark.text +=
      fmt::format(" C++: {}, {}, not vectorised. {}: {}, options of its just-in-time compiler at their "
                  "defaults.",
                  version_of(group, "compiler", "compiler not recorded"),
                  version_of(group, "kernel_flags", "flags not recorded"), other.build,
                  version_of(group, lower(other.build), "version not recorded"));
  remark.text += vectorisation(group, other, plain, factor);
  return remark;
}

} // namespace

std::vector<Remark> languages(const Products& group) {
  std::map<Product, Product> largest; // of each language and loops
  for (const auto& [product, metrics] : group.of) {
    Product plain = product;
    plain.build.clear();
    if (product.build.empty() || product.build == "vectorised" || product.variant == "dgemm" ||
        !compare(group, product, plain).by_time)
      continue;
    Product& best = largest.try_emplace(at_size(product, 0), product).first->second;
    if (product.n > best.n) best = product;
  }
  std::vector<Remark> all;
  for (const auto& [loops, product] : largest) {
    Product plain = product;
    plain.build.clear();
    const Quantity factor = *compare(group, product, plain).by_time;
    all.push_back(
        factor.clear()
            ? remark_on(group, product, plain, factor)
            : undecided(fmt::format("{} compared with C++, n = {}", loops_name(product), product.n), factor));
  }
  return all;
}

// Remarks on contradictory counts, and on speed-ups that hit rates do not explain.
namespace {

/// Native events that count more than demand accesses.
struct TermRow {
  const char *event, *counts;
};
constexpr std::array term_rows{
    TermRow{"LLC_REFERENCES",
            "counts every request of the core to the last level, including speculation and hardware "
            "prefetches (Intel 64 and IA-32 Architectures Software Developer's "
            "Manual, volume 3, architectural event Last Level Cache References)"},
    TermRow{"LAST_LEVEL_CACHE_REFERENCES",
            "counts every request of the core to the last level, including hardware prefetches"},
    TermRow{"L2_RQSTS:MISS", "counts requests of the L2 prefetcher and of L1"},
    TermRow{"L2_LINES_IN", "counts every line brought into L2, including prefetches"},
    TermRow{"L2_TRANS", "counts every L2 transaction, including prefetches and write-backs"},
    TermRow{"L1D:REPLACEMENT",
            "counts lines that are brought into L1: for loads and stores, for page walks and for the L1 "
            "prefetcher, but not what the L2 prefetcher fetches into L2"},
};

struct Excess {
  Product product;
  Witness witness;
  double l1 = 0, l2 = 0;
};

std::string place_of(const Product& product) {
  return fmt::format("{}, n = {}", loops_name(product), product.n);
}

std::string explained(const Products& group, const std::string& preset) {
  if (!group.run) return {};
  const auto note = group.run->presets.find(preset);
  if (note == group.run->presets.end()) return {};
  std::string text = fmt::format(" On this CPU {} = {}.", preset, note->second);
  for (const TermRow& row : term_rows)
    if (note->second.find(row.event) != std::string::npos)
      text += fmt::format(" The event {} {}.", row.event, row.counts);
  return text;
}

} // namespace

std::vector<Remark> misses_out_of_order(const Products& group, const Products* modelled,
                                        const Witness& model) {
  constexpr double excess_share = 1.02; // counts of different passes differ a little
  std::vector<Excess> found;
  std::size_t compared = 0;
  for (const auto& [product, metrics] : group.of)
    for (const Witness::Kind witness : {Witness::perf, Witness::papi, Witness::published}) {
      const auto l1 = central(metrics, "PAPI_L1_DCM", witness), l2 = central(metrics, "PAPI_L2_DCM", witness);
      if (!l1 || !l2) continue;
      ++compared;
      if (l2->value > excess_share * l1->value && evidence(*l1, *l2) == statistics::Evidence::clear)
        found.push_back({product, witness, l1->value, l2->value});
    }
  if (found.empty()) return {};
  Remark remark;
  remark.title = "More misses in L2 than in L1";
  remark.text = fmt::format("In {} of {} PAPI_L2_DCM is larger than PAPI_L1_DCM. Only accesses that miss in "
                            "L1 reach L2, so PAPI_L2_DCM counts more than demand misses here.",
                            found.size(), base::format_count(compared, "product"));
  const std::string l2 = explained(group, "PAPI_L2_DCM");
  remark.text += l2.empty() ? " The results do not contain the formula of the preset; for any CPU, run "
                              "recount presets PAPI_L2_DCM "
                              "--pmu NAME."
                            : l2;
  remark.text += explained(group, "PAPI_L1_DCM");
  remark.text += " The ratio of L2 misses to L1 misses has no meaning here.";
  for (const Excess& e : found) {
    std::string line = fmt::format("{}: {} million in L2, {} million in L1 ({}), {}", place_of(e.product),
                                   base::format_millions(e.l2), base::format_millions(e.l1),
                                   base::format_times(e.l2 / e.l1), base::format_witness(e.witness));
    if (modelled) {
      const auto at = modelled->of.find(e.product);
      if (at != modelled->of.end())
        if (const auto demand = central(at->second, "PAPI_L2_DCM", model))
          line += fmt::format("; without a prefetcher {} million, {}", base::format_millions(demand->value),
                              base::format_witness(model));
    }
    remark.evidence.push_back(line);
  }
  return {remark};
}

namespace {

/// The products that a product is compared with: the one before it in the course of the study.
std::vector<Product> compared_with(const Product& product) {
  const auto as = [&](const char* variant) {
    Product other = product;
    other.variant = variant;
    other.block = 0;
    other.transposes = false;
    return other;
  };
  if (product.element == "i16") {
    if (product.variant == "transposed") return {as("ijk-mem")};
    if (product.variant == "blocked") return {as("ijk-mem"), as("transposed")};
    return {};
  }
  if (product.variant == "ikj") return {as("ijk")};
  if (product.variant == "blocked") return {as("ikj")};
  return {};
}

std::string why_faster(const Products& group, const Product& a, const Product& b, const Witness& witness) {
  const auto l2_a = derived(group, a, "L2_HIT_RATE", witness),
             l2_b = derived(group, b, "L2_HIT_RATE", witness);
  const auto far_a = derived(group, a, "L2_PER_FLOP", witness),
             far_b = derived(group, b, "L2_PER_FLOP", witness);
  if (!l2_a || !l2_b || !far_a || !far_b) return "L2 was not counted, so the cause is unknown.";
  const std::string rates = fmt::format(
      "{} of the L1 misses hit in L2 ({} in the other product), so that {} of 1000 operations miss in L2 "
      "({} in the other product)",
      base::format_share(l2_a->value), base::format_share(l2_b->value),
      base::format_number(1000 * far_a->value), base::format_number(1000 * far_b->value));
  if (evidence(*far_a, *far_b) != statistics::Evidence::clear)
    return "The L2 misses of both products are not distinguishable from noise, so the cause is open.";
  if (far_a->value < far_b->value) return "L2 serves the misses: " + rates + ".";
  return "L2 does not explain it either: " + rates +
         ". Remaining causes that these events do not count: prefetching, overlap of accesses, and the "
         "number of "
         "instructions.";
}

} // namespace

std::vector<Remark> faster_with_fewer_hits(const Products& group) {
  std::vector<Remark> all;
  for (const auto& [product, metrics] : group.of)
    for (const Product& other : compared_with(product)) {
      const Comparison c = compare(group, product, other);
      if (!c.by_time || !c.l1 || c.by_time->value <= 1 || c.l1->value >= 0) continue;
      if (!c.by_time->clear() || !c.l1->clear()) {
        all.push_back(undecided(fmt::format("{} of {} compared with {}, n = {}",
                                            c.by_time->clear() ? "L1 hit rate" : "time", loops_name(product),
                                            loops_name(other), product.n),
                                c.by_time->clear() ? *c.l1 : *c.by_time));
        continue;
      }
      Remark remark;
      remark.title = fmt::format("{} is faster than {} with a lower L1 hit rate, n = {}", loops_name(product),
                                 loops_name(other), product.n);
      remark.text =
          fmt::format("It is {} faster ({}), though its L1 hit rate is {} points lower ({}). {}",
                      base::format_times(c.by_time->value), base::format_witness(c.by_time->witness),
                      base::format_number(-100 * c.l1->value), base::format_witness(c.l1->witness),
                      why_faster(group, product, other, c.l1->witness));
      all.push_back(std::move(remark));
    }
  return all;
}

std::vector<Remark> transposition(const Products& group) {
  std::vector<Remark> all;
  for (const auto& [with, metrics] : group.of) {
    if (!with.transposes || !with.build.empty()) continue;
    Product without = with;
    without.transposes = false;
    const auto a = seconds(group, with), b = seconds(group, without);
    const double share = 2.0 / (4.0 * static_cast<double>(with.n)); // 2 n^2 of 4 n^3 accesses
    Remark remark;
    remark.title = fmt::format("Effect of including the transposition, n = {}", with.n);
    remark.text = fmt::format("It adds 2 n^2 loads and stores to the 4 n^3 of the product, {:.3f} % of them.",
                              100 * share);
    const Comparison c = compare(group, with, without);
    if (a && b && c.by_time)
      remark.text +=
          fmt::format(" With it the product took {} s, without it {} s: {}.", base::format_seconds(a->value),
                      base::format_seconds(b->value),
                      c.by_time->clear() ? fmt::format("{:+.1f} %", 100 * (a->value / b->value - 1))
                                         : reservation(*c.by_time));
    const auto misses = derived(group, with, "L1_PER_FLOP"), fewer = derived(group, without, "L1_PER_FLOP");
    if (c.l1 && misses && fewer && c.l1->clear())
      remark.text += fmt::format(
          " It adds {} million L1 misses ({}), because b is read by columns once; the hit rate changes "
          "by {} points.",
          base::format_millions((misses->value - fewer->value) * with.operations()),
          base::format_witness(c.l1->witness), base::format_points(c.l1->value));
    else if (c.l1)
      remark.text += fmt::format(" L1 hit rates: {}.", reservation(*c.l1));
    remark.text +=
        " Its cost grows with n^2, that of the product with n^3. A comparison with another product must "
        "include it.";
    all.push_back(std::move(remark));
  }
  return all;
}

std::vector<Remark> odd_ones(const Products& group) {
  const auto odd = odd_repetitions(group);
  if (odd.empty()) return {};
  Remark remark;
  remark.title = "Outliers";
  remark.text =
      fmt::format("{} from the other repetitions. The medians include {}. Find the cause before using {}.",
                  base::format_count(odd.size(), "value differs", "values differ"),
                  odd.size() == 1 ? "it" : "them", odd.size() == 1 ? "it" : "them");
  for (const OddRepetition& one : odd)
    remark.evidence.push_back(
        fmt::format("{}, n = {}, {} {}, repetition {}: {}, {}", loops_name(one.product), one.product.n,
                    one.metric, base::format_witness(one.witness), one.repetition + 1,
                    one.metric.ends_with("seconds") ? base::format_seconds(one.value) + " s"
                                                    : base::format_millions(one.value) + " million",
                    one.what));
  return {remark};
}

// What the presets of a published table consist of, by a model that describes what they count.
namespace {

/// "MODEL_L2_STREAMER_FETCHES" as a reader calls it.
std::string part_name(const std::string& metric) {
  struct Row {
    const char *end, *words;
  };
  static constexpr std::array rows{Row{"_DEMAND_MISSES", "demand"},
                                   Row{"_WALK_MISSES", "page walks"},
                                   Row{"_PREFETCH_MISSES", "requests of the prefetcher above"},
                                   Row{"_NEXT_LINE_FETCHES", "next-line prefetcher"},
                                   Row{"_ADJACENT_LINE_FETCHES", "adjacent-line prefetcher"},
                                   Row{"_STREAMER_FETCHES", "streamer"}};
  for (const Row& row : rows)
    if (metric.ends_with(row.end)) return row.words;
  return metric;
}

using Sum = std::map<std::string, std::int64_t>;

std::string formula(const Sum& sum) {
  std::vector<std::string> terms;
  for (const auto& [metric, factor] : sum)
    terms.push_back(factor == 1 ? metric : fmt::format("{} {}", factor, metric));
  return fmt::format("{}", fmt::join(terms, " + "));
}

/// "demand 1.00 %, streamer 98.50 %"; nothing: a part was not modelled.
std::optional<std::string> shares(const Metrics& metrics, const Sum& sum, const Witness& model,
                                  double whole) {
  std::vector<std::string> parts;
  for (const auto& [metric, factor] : sum) {
    const auto part = central(metrics, metric, model);
    if (!part) return {};
    parts.push_back(part_name(metric) + " " +
                    base::format_share(static_cast<double>(factor) * part->value / whole));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace

std::vector<Remark> parts_of_presets(const Products& published, const Products& modelled,
                                     const Witness& model, const model::MachineDescription& machine) {
  std::vector<Remark> all;
  for (const auto& [preset, sum] : machine.presets) {
    Remark remark;
    remark.title = fmt::format("What {} consists of, modelled", preset);
    remark.text = fmt::format("The model of {} describes the preset as {}. The shares below are modelled; "
                              "no counter separates them.",
                              machine.name, formula(sum));
    for (const auto& [product, metrics] : published.of) {
      const auto stated = central(metrics, preset, Witness::published);
      const auto at = modelled.of.find(product);
      if (!stated || at == modelled.of.end()) continue;
      const auto value = central(at->second, preset, model);
      if (!value || value->value <= 0 || stated->value <= 0) continue;
      const auto parts = shares(at->second, sum, model, value->value);
      if (!parts) continue;
      remark.evidence.push_back(fmt::format(
          "{}, n = {}: published {} million; modelled {:.3f} times as many ({:.3f} to {:.3f}): {}",
          loops_name(product), product.n, base::format_millions(stated->value), value->value / stated->value,
          value->low / stated->value, value->high / stated->value, *parts));
    }
    if (!remark.evidence.empty()) all.push_back(std::move(remark));
  }
  return all;
}

namespace {

constexpr std::size_t least_siblings = 3;

void find_distant(std::vector<OddRepetition>& found, const Product& product,
                  const std::pair<Witness, std::string>& who, const Repetitions& all) {
  const std::size_t n = all.values.size();
  if (n <= least_siblings) return;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> others;
    for (std::size_t k = 0; k < n; ++k)
      if (k != i) others.push_back(all.values[k].value);
    const double middle = statistics::median(others);
    const auto [least, most] = std::ranges::minmax(others);
    const double away = all.values[i].value - middle;
    if (middle == 0 || std::abs(away) < odd_share * std::abs(middle) ||
        std::abs(away) < odd_times * (most - least))
      continue;
    found.push_back(
        {product, who.first, who.second, all.values[i].repetition, all.values[i].value, middle,
         fmt::format("{:.0f} % {} the other {}, which agree within {:.1f} %", 100 * std::abs(away / middle),
                     away < 0 ? "below" : "above", others.size(), 100 * (most - least) / std::abs(middle))});
  }
}

const Repeated* repetition_of(const Repetitions& all, int repetition) {
  const auto at = std::ranges::find(all.values, repetition, &Repeated::repetition);
  return at == all.values.end() ? nullptr : &*at;
}

/// Values that are equal in one repetition of several, and not 0.
void find_identical(std::vector<OddRepetition>& found, const Product& product,
                    const std::pair<Witness, std::string>& a, const Repetitions& values_of_a,
                    const std::pair<Witness, std::string>& b, const Repetitions& values_of_b) {
  std::vector<const Repeated*> same;
  std::vector<double> others;
  for (const Repeated& one : values_of_a.values) {
    const Repeated* const its = repetition_of(values_of_b, one.repetition);
    if (!its) continue;
    if (its->value == one.value && one.value != 0)
      same.push_back(its);
    else
      others.push_back(its->value);
  }
  if (same.size() != 1 || others.size() < 2) return;
  found.push_back(
      {product, b.first, b.second, same[0]->repetition, same[0]->value, statistics::median(others),
       fmt::format("equal to the value of {} in the same repetition, and in no other", a.second)});
}

} // namespace

std::vector<OddRepetition> odd_repetitions(const Products& group) {
  std::vector<OddRepetition> found;
  for (const auto& [product, metrics] : group.of)
    for (auto a = metrics.begin(); a != metrics.end(); ++a) {
      if (a->first.first.modelled()) continue;
      find_distant(found, product, a->first, a->second);
      for (auto b = std::next(a); b != metrics.end() && b->first.first == a->first.first; ++b)
        find_identical(found, product, a->first, a->second, b->first, b->second);
    }
  return found;
}

} // namespace recount::matmul
