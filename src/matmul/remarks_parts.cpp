// What the presets of a published table consist of, by a model that describes what they count.
#include "base/format.hpp"
#include "matmul/remarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>

namespace recount::matmul {
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
std::optional<std::string> shares(const Metrics& metrics, const Sum& sum, const std::string& model,
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
                                     const std::string& model, const model::MachineDescription& machine) {
  std::vector<Remark> all;
  for (const auto& [preset, sum] : machine.presets) {
    Remark remark;
    remark.title = fmt::format("What {} consists of, modelled", preset);
    remark.text = fmt::format("The model of {} describes the preset as {}. The shares below are modelled; "
                              "no counter separates them.",
                              machine.name, formula(sum));
    for (const auto& [product, metrics] : published.of) {
      const auto stated = central(metrics, preset, "published");
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

} // namespace recount::matmul
