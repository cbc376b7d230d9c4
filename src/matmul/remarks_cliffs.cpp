// Remarks on jumps of the cost per step between sizes, and on the levels that blocks fit.
#include "base/format.hpp"
#include "base/names.hpp"
#include "matmul/derived.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

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
                                 const std::string& witness = {}) {
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
    if (!from || !to || from->witness != to->witness || is_modelled(from->witness)) continue;
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
std::vector<Risen> risen(const Products& modelled, const std::string& model, const Product& a,
                         const Product& b) {
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
      fmt::format("L1 misses {} to {} per step with its TLB, {} to {} without",
                  base::format_number(with_a->value), base::format_number(with_b->value),
                  base::format_number(bare_a->value), base::format_number(bare_b->value));
  if (bare < 0.5 * with) return " The TLB causes it: the model has " + numbers + ".";
  return " The TLB is not the only cause: the model has " + numbers + ".";
}

bool modelled_at(const Products& modelled, const std::string& model, const Product& product) {
  return std::ranges::any_of(model_causes, [&](const Cause& cause) {
    return per_step(modelled, product, {cause.metric, cause.what, false}, model).has_value();
  });
}

Remark cliff(const Products& modelled, const std::string& model, const Capacities& machine, const Product& a,
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

std::vector<Remark> cliffs(const Products& measured, const Products& modelled, const std::string& model,
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

std::vector<Remark> conflicts(const Products& modelled, const std::string& model) {
  constexpr double most = 1.25; ///< of the misses without conflicts
  const std::string machine = model == "model" ? "model:host" : model;
  Remark remark;
  for (const auto& [product, metrics] : modelled.of) {
    const auto misses = central(metrics, "PAPI_L1_DCM", model),
               free = central(metrics, "PAPI_L1_DCM", machine + "~full");
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

} // namespace recount::matmul
