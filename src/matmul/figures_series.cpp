#include "matmul/figures_series.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace recount::matmul {
namespace {

struct ColourRow {
  const char *variant, *build;
  int linetype;
};
constexpr std::array colour_rows{ColourRow{"ijk", "", 1},           ColourRow{"ikj", "", 2},
                                 ColourRow{"blocked", "", 3},       ColourRow{"ikj", "Java", 4},
                                 ColourRow{"ikj", "vectorised", 5}, ColourRow{"ijk", "Java", 6},
                                 ColourRow{"dgemm", "", 7}};

/// The CPU of a group, as in the caption.
std::string machine_text(const Products& group) {
  if (!group.run) return group.machine;
  return group.published ? "published: " + group.run->host : plot::machine_name(*group.run);
}

std::optional<PlottedValue> plotted(const std::optional<Quantity>& quantity) {
  if (!quantity) return {};
  const std::size_t n = quantity->compared > 0 ? quantity->compared : quantity->values.size();
  return PlottedValue{
      quantity->value,  quantity->low, quantity->high, quantity->witness, std::max<std::size_t>(1, n),
      quantity->flagged};
}

} // namespace

PlottedValueOf metric_value(const std::string& metric, double factor, const std::string& witness) {
  return [=](const Products& group, const Product& product) -> std::optional<PlottedValue> {
    const auto at = group.of.find(product);
    if (at == group.of.end()) return {};
    const auto value = central(at->second, metric, witness);
    return value ? plotted(scaled(*value, factor)) : std::nullopt;
  };
}

std::optional<PlottedValue> gflops_value(const Products& group, const Product& product) {
  return plotted(derived(group, product, "GFLOPS"));
}

PlottedValueOf derived_value(const std::string& name) {
  return
      [=](const Products& group, const Product& product) { return plotted(derived(group, product, name)); };
}

std::optional<PlottedValue> speed_up_value(const Products& group, const Product& product,
                                           const Product& other) {
  return plotted(compare(group, product, other).by_time);
}

int linetype_of(const Product& loops) {
  const auto* const row = std::ranges::find_if(
      colour_rows, [&](const ColourRow& r) { return r.variant == loops.variant && r.build == loops.build; });
  return row == colour_rows.end() ? 0 : row->linetype;
}

std::vector<Product> in_order(std::vector<Product> loops) {
  const auto rank = [](const Product& p) {
    const int variant = p.variant == "ijk" ? 0 : p.variant == "ikj" ? 1 : p.variant == "blocked" ? 2 : 3;
    return std::tuple(p.build.empty() ? 0 : 1, variant, p.block, p.build);
  };
  std::ranges::stable_sort(loops, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return loops;
}

void ProductSheet::add(plot::Panel& panel, plot::Series series, const Products& group,
                       const std::vector<std::pair<double, Product>>& points,
                       const PlottedValueOf& value_of) {
  bool here = false; // else a described machine alone answers, which the title names
  for (const auto& [x, product] : points) {
    const auto value = value_of(group, product);
    if (!value) continue;
    series.samples.push_back({x, value->y, value->low, value->high});
    series.band = series.band || value->high > value->low;
    series.modelled = series.modelled || plot::is_model(value->witness);
    witnesses_.insert(value->witness);
    statistic_ = group.statistic;
    here = here || !described_machine(value->witness) || value->witness.starts_with("model:host");
    if (plot::is_model(value->witness)) {
      modelled_ = true;
      continue;
    }
    least_ = measured_ == 0 ? value->n : std::min(least_, value->n);
    most_ = std::max(most_, value->n);
    measured_ += value->n;
    flagged_ += value->flagged;
  }
  if (series.samples.empty()) return;
  std::ranges::sort(series.samples, {}, &plot::Sample::x);
  if (series.compact.empty()) series.compact = series.label;
  if (here) machines_.insert(machine_text(group));
  panel.series.push_back(std::move(series));
}

void ProductSheet::finish(plot::Panel panel, const std::string& subject, std::size_t least) {
  const bool enough =
      std::ranges::any_of(panel.series, [&](const plot::Series& s) { return s.samples.size() >= least; });
  std::vector<std::string> who;
  for (const auto& witness : witnesses_) { // a machine without a part is named by its curve
    const auto whole = witness.substr(0, witness.find('~'));
    if (whole == witness || std::ranges::find(witnesses_, whole) == witnesses_.end())
      who.push_back(base::format_witness(witness));
  }
  witnesses_.clear();
  if (!enough) return;
  panel.title = fmt::format("{}, {}", subject, fmt::join(who, " and "));
  // Each colour once: those without one of their own take what is left.
  std::set<int> taken;
  for (const plot::Series& series : panel.series)
    taken.insert(series.linetype);
  int next = 1;
  for (plot::Series& series : panel.series) {
    if (series.linetype > 0 || panel.ordered || series.look == plot::Series::Look::level) continue;
    while (taken.contains(next) && next < 7)
      ++next;
    series.linetype = next;
    taken.insert(next);
  }
  sheet_.panels.push_back(std::move(panel));
}

plot::Sheet ProductSheet::made() {
  if (sheet_.panels.empty()) return std::move(sheet_);
  sheet_.caption.assign(machines_.begin(), machines_.end());
  if (most_ == 1) sheet_.caption.emplace_back("single values");
  if (most_ > 1)
    for (auto& text : plot::statistic_texts(statistic_, least_, most_))
      sheet_.caption.push_back(std::move(text));
  if (modelled_) sheet_.caption.push_back(plot::modelled_text(sheet_, measured_ > 0));
  if (flagged_ > 0) {
    sheet_.caption.push_back(plot::disturbed_text(flagged_, measured_));
    sheet_.warnings.push_back(sheet_.caption.back());
  }
  sheet_.caption.insert(sheet_.caption.end(), remarks.begin(), remarks.end());
  return std::move(sheet_);
}

} // namespace recount::matmul
