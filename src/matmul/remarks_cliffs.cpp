// Remarks on sizes between which the cost of a step leaps, and on what fits where.
#include "matmul/derived.hpp"
#include "base/format.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace recount::analysis {
namespace {

/// A time per step that grows by this factor, and misses per step that grow by so many, are cliffs.
constexpr double time_leap = 1.5, miss_leap = 0.15;

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

/// What loops go through again and again, in elements (and pages), as a function of n.
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
    Footprint{"ijk", "the column of b, a line for each of its n rows",
              [](const Product& p, const Capacities& m) { return static_cast<double>(p.n * m.line); },
              [](const Product& p, const Capacities& m) { return column_pages(p, m); }},
    Footprint{"ijk-mem", "the column of b, a line for each of its n rows",
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
                                 const std::string& witness = {}) {
  const auto at = group.of.find(product);
  if (at == group.of.end()) return {};
  auto quantity = mean(at->second, metric.metric, witness);
  if (!quantity) return {};
  quantity->value /= product.operations() / 2;
  if (metric.time) quantity->value *= 1e9;
  return quantity;
}

struct Leap {
  const Measured* metric;
  Quantity from, to;
};

std::vector<Leap> leaps(const Products& group, const Product& a, const Product& b) {
  std::vector<Leap> found;
  for (const Measured& metric : measured_metrics) {
    const auto from = per_step(group, a, metric), to = per_step(group, b, metric);
    if (!from || !to || from->witness != to->witness || from->witness.starts_with("model")) continue;
    const bool leapt =
        metric.time ? to->value > time_leap * from->value : to->value > from->value + miss_leap;
    if (leapt) found.push_back({&metric, *from, *to});
  }
  return found;
}

std::string leap_text(const Leap& leap) {
  if (leap.metric->time)
    return fmt::format("time {} to {} ns a step ({}, {})", show_number(leap.from.value),
                       show_number(leap.to.value), show_times(leap.to.value / leap.from.value),
                       show_witness(leap.to.witness));
  return fmt::format("{} {} to {} a step ({})", leap.metric->what, show_number(leap.from.value),
                     show_number(leap.to.value), show_witness(leap.to.witness));
}

/// What outgrows what between two sizes.
std::vector<std::string> outgrown(const Product& a, const Product& b, const Capacities& machine) {
  std::vector<std::string> found;
  for (const Footprint& f : footprints) {
    if (f.variant != a.variant) continue;
    for (const auto& level : machine.levels) {
      const auto capacity = static_cast<double>(level.bytes);
      if (f.bytes(a, machine) <= capacity && f.bytes(b, machine) > capacity)
        found.push_back(fmt::format("{} ({} to {}) outgrows {} ({})", f.what, show_bytes(f.bytes(a, machine)),
                                    show_bytes(f.bytes(b, machine)), level.name, show_bytes(capacity)));
    }
    if (!f.pages || !machine.tlb_pages) continue;
    const auto entries = static_cast<double>(*machine.tlb_pages);
    if (f.pages(a, machine) <= entries && f.pages(b, machine) > entries)
      found.push_back(fmt::format("{} lies on {:.0f} to {:.0f} pages and outgrows the TLB's {} entries",
                                  f.what, f.pages(a, machine), f.pages(b, machine), *machine.tlb_pages));
  }
  return found;
}

/// What the model counts more of, the largest first.
struct Risen {
  std::string text;
  double by = 0;
  bool walks = false;
};
std::vector<Risen> risen(const Products& modelled, const std::string& model, const Product& a,
                         const Product& b) {
  std::vector<Risen> found;
  for (const Cause& cause : model_causes) {
    const Measured metric{cause.metric, cause.what, false};
    const auto from = per_step(modelled, a, metric, model), to = per_step(modelled, b, metric, model);
    if (!from || !to || to->value < from->value + 0.05) continue;
    found.push_back(
        {fmt::format("{} {} to {} a step", cause.what, show_number(from->value), show_number(to->value)),
         to->value - from->value, std::string_view(cause.metric) == "PAPI_TLB_DM"});
  }
  std::ranges::stable_sort(found, std::greater{}, &Risen::by);
  return found;
}

/// Whether the leap of L1 misses is the TLB's: the model has it with its TLB and not without.
std::string tlb_text(const Products& modelled, const std::string& model, const Product& a, const Product& b) {
  const Measured misses{"PAPI_L1_DCM", "L1 misses", false};
  const std::string machine = model == "model" ? "model:host" : model;
  const auto with_a = per_step(modelled, a, misses, model), with_b = per_step(modelled, b, misses, model);
  const auto bare_a = per_step(modelled, a, misses, machine + "~no-tlb"),
             bare_b = per_step(modelled, b, misses, machine + "~no-tlb");
  if (!with_a || !with_b || !bare_a || !bare_b) return {};
  const double with = with_b->value - with_a->value, bare = bare_b->value - bare_a->value;
  if (with < 0.05) return {};
  const std::string numbers =
      fmt::format("L1 misses {} to {} a step with its TLB, {} to {} without", show_number(with_a->value),
                  show_number(with_b->value), show_number(bare_a->value), show_number(bare_b->value));
  if (bare < 0.5 * with) return " The TLB makes it: the model has " + numbers + ".";
  return " It is not the TLB alone: the model has " + numbers + ".";
}

Remark cliff(const Products& modelled, const std::string& model, const Capacities& machine, const Product& a,
             const Product& b, const std::vector<Leap>& leapt) {
  Remark remark;
  remark.title = fmt::format("A cliff: {} between n = {} and {}", loops_name(a), a.n, b.n);
  std::vector<std::string> lines;
  for (const Leap& leap : leapt)
    lines.push_back(leap_text(leap));
  remark.text = fmt::format("From n = {} to {}: {}.", a.n, b.n, fmt::join(lines, "; "));
  const auto rise = risen(modelled, model, a, b);
  if (rise.empty()) {
    remark.text +=
        fmt::format(" Nothing of this is in the caches of {} as they are modelled: neither misses nor "
                    "page walks a step rise by 0.05 there, or these sizes were not modelled.",
                    machine.machine);
  } else {
    std::vector<std::string> texts;
    for (const Risen& r : rise)
      texts.push_back(r.text);
    remark.text += fmt::format(" In the model of {}: {}.", machine.machine, fmt::join(texts, "; "));
    remark.text += tlb_text(modelled, model, a, b);
    if (rise.front().walks)
      remark.text +=
          " Most of all, steps begin to wait for page walks: the time is the TLB's, before any cache's.";
  }
  remark.evidence = outgrown(a, b, machine);
  return remark;
}

} // namespace

std::vector<Remark> cliffs(const Products& measured, const Products& modelled, const std::string& model,
                           const Capacities& machine) {
  std::vector<Remark> all;
  for (const Product& loops : measured.loops()) {
    if (!loops.build.empty() || loops.variant == "dgemm") continue;
    const auto sizes = measured.sizes(loops);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      const Product a = at_size(loops, sizes[i - 1]), b = at_size(loops, sizes[i]);
      const auto leapt = leaps(measured, a, b);
      if (!leapt.empty()) all.push_back(cliff(modelled, model, machine, a, b, leapt));
    }
  }
  return all;
}

std::vector<Remark> conflicts(const Products& modelled, const std::string& model) {
  constexpr double most = 1.25; ///< of the misses without conflicts
  const std::string machine = model == "model" ? "model:host" : model;
  Remark remark;
  for (const auto& [product, metrics] : modelled.of) {
    const auto misses = mean(metrics, "PAPI_L1_DCM", model),
               free = mean(metrics, "PAPI_L1_DCM", machine + "~full");
    if (!misses || !free || misses->value <= most * free->value) continue;
    remark.evidence.push_back(fmt::format(
        "{}, n = {}: {} million L1 misses, {} million if L1 were fully associative", loops_name(product),
        product.n, show_millions(misses->value), show_millions(free->value)));
  }
  if (remark.evidence.empty()) return {};
  remark.title = "Conflicts: lines that compete for few sets";
  remark.text =
      "At these sizes the first level misses though it has room: rows lie a multiple of few sets apart, so "
      "that a column meets the same sets again and again. A size that is a multiple of a power of two is "
      "the worst; a row longer by a line, or a block, mends it.";
  return {remark};
}

std::vector<Remark> blocks_that_fit(const Products& group, const Capacities& machine) {
  std::set<std::pair<std::int64_t, std::int64_t>> blocks; // rows, bytes of an element
  for (const auto& [product, metrics] : group.of)
    if (product.block > 0 && product.build.empty()) blocks.emplace(product.block, product.element_bytes());
  if (blocks.empty() || machine.levels.empty()) return {};
  Remark remark;
  remark.title = "Which blocks fit";
  const auto& l1 = machine.levels.front();
  const auto largest = [&](double copies, std::int64_t element) {
    return std::floor(std::sqrt(static_cast<double>(l1.bytes) / copies / static_cast<double>(element)));
  };
  const std::int64_t element = blocks.rbegin()->second;
  remark.text =
      fmt::format("{} of {} holds {}: one block of {:.0f} x {:.0f} elements of {} bytes, or three (of a, b "
                  "and c) of {:.0f} x {:.0f}.",
                  l1.name, machine.machine, show_bytes(static_cast<double>(l1.bytes)), largest(1, element),
                  largest(1, element), element, largest(3, element), largest(3, element));
  for (const auto& [block, bytes] : blocks) {
    const double size = static_cast<double>(block * block * bytes);
    std::string where;
    for (auto level = machine.levels.rbegin(); level != machine.levels.rend(); ++level)
      if (size <= static_cast<double>(level->bytes)) where = level->name;
    remark.evidence.push_back(fmt::format("block {} x {}: {} each, {} three; {}", block, block,
                                          show_bytes(size), show_bytes(3 * size),
                                          where.empty() ? "no level of " + machine.machine + " holds one"
                                                        : "the smallest level that holds one is " + where));
  }
  return {remark};
}

} // namespace recount::analysis
