#include "run/verdict/relations.hpp"

#include "base/names.hpp"
#include "base/text.hpp"
#include "count/lint/lint.hpp"
#include "run/verdict/joint.hpp"

#include <fmt/ranges.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace recount::check {
namespace {

using formula::Linear;
using preset::Identity;

constexpr std::uint64_t mask_field = 0xff00;

/// A unit mask of an event whose masks are bits of the usual field.
struct MaskName {
  std::string event, mask;
  std::uint64_t bits = 0;
};

/// The masks of the events in the view, by event and the rest of the encoding.
std::map<std::pair<std::string, std::uint64_t>, std::vector<MaskName>>
collect_masks(const preset::CpuView& view) {
  std::map<std::pair<std::string, std::uint64_t>, std::vector<MaskName>> found;
  if (view.kind != preset::CpuKind::cisc || !view.natives) return found;
  const auto base_name = [](const std::string& name) { return name.substr(0, name.find(':')); };
  std::set<std::string> used;
  for (const std::string& name : view.names)
    used.insert(base_name(name));
  for (const std::string& full : view.natives->core_names()) {
    const std::string name = without_pmu(full);
    const auto colon = name.find(':');
    if (colon == name.npos || !used.contains(name.substr(0, colon))) continue;
    const preset::Native& code = view.natives->of(name);
    if (code.ok() && code.type == PERF_TYPE_RAW && code.config1 == 0)
      found[{name.substr(0, colon), code.config & ~mask_field}].push_back(
          {name.substr(0, colon), name.substr(colon + 1), code.config & mask_field});
  }
  return found;
}

/// "CODE_RD_MISS" for "CODE_RD_HIT"; empty for what is no hit.
std::string name_miss(const std::string& mask) {
  const auto at = mask.rfind("HIT");
  const bool word = at != mask.npos && at + 3 == mask.size() && (at == 0 || mask[at - 1] == '_');
  return word ? mask.substr(0, at) + "MISS" : std::string();
}

bool is_whole(const std::string& mask) {
  return mask == "ALL" || mask == "ANY" || mask.starts_with("ALL_") || mask.starts_with("ANY_");
}

void add_mask_relations(const std::vector<MaskName>& masks, std::vector<Identity>& all) {
  const auto add = [&](const std::string& text, const char* why) {
    all.push_back(parse_event_relation(text, why));
  };
  for (const MaskName& one : masks)
    for (const MaskName& other : masks) {
      if (is_whole(one.mask) && other.bits != one.bits && (other.bits & ~one.bits) == 0 && other.bits != 0)
        add(fmt::format("{}:{} <= {}:{}", one.event, other.mask, one.event, one.mask),
            "its unit mask is a part of the other");
      if (other.mask != name_miss(one.mask)) continue;
      for (const MaskName& whole : masks)
        if (whole.bits == (one.bits | other.bits) && whole.bits != one.bits && whole.bits != other.bits)
          add(fmt::format("{}:{} = {}:{} + {}:{}", one.event, whole.mask, one.event, one.mask, one.event,
                          other.mask),
              "each hits or misses: the union of both unit masks");
    }
}

} // namespace

std::vector<Identity> event_relations(const preset::CpuView& view) {
  std::vector<Identity> all = joint_relations(view.core ? view.core->name : view.cpu);
  for (const lint::EventSum& sum : lint::event_sums())
    if (sum.parts.back() != "...")
      all.push_back(parse_event_relation(fmt::format("{} = {}", sum.whole, fmt::join(sum.parts, " + ")),
                                         "the parts are the whole by definition"));
    else
      for (const std::string& part : std::span(sum.parts).first(sum.parts.size() - 1))
        all.push_back(parse_event_relation(part + " <= " + sum.whole, "a part cannot exceed the total"));
  for (const auto& [event, masks] : collect_masks(view))
    add_mask_relations(masks, all);
  if (view.natives)
    std::erase_if(all, [&](const Identity& one) {
      const auto names = one.presets();
      return !std::ranges::all_of(names, [&](const auto& name) { return view.natives->of(name).ok(); });
    });
  return all;
}

namespace {

/// The view with the native events among the metrics as further meanings, and relations between events.
class Algebra {
public:
  Algebra(const std::set<std::string>& metrics, const preset::CpuView& view) : view_(view) {
    for (const std::string& metric : metrics)
      if (!is_preset(metric))
        if (const auto v = variable(without_pmu(metric)))
          view_.meanings.emplace(metric, formula::variable(*v));
    facts_ = event_relations(view_);
    for (const Identity& fact : facts_)
      if (auto form = fact_form(fact)) forms_.emplace_back(std::move(*form), fact.at_most);
    for (const std::string& metric : metrics)
      if (const auto own = form({metric})) metrics_.emplace(metric, *own);
  }

  /// None where a metric has no meaning, or is no sum.
  [[nodiscard]] std::optional<Linear> form(const std::vector<std::string>& metrics) const {
    const auto sum = view_.sum(metrics);
    return sum ? formula::linear(*sum) : std::nullopt;
  }
  [[nodiscard]] const std::map<std::string, Linear>& metrics() const { return metrics_; }
  [[nodiscard]] const std::vector<Identity>& facts() const { return facts_; }
  [[nodiscard]] const preset::CpuView& view() const { return view_; }

  /// The metrics that count this event alone.
  [[nodiscard]] std::vector<std::string> counting(const std::string& event) const {
    std::vector<std::string> found;
    if (const auto v = find(event))
      for (const auto& [metric, form] : metrics_)
        if (form == Linear{{{*v, 1}}, 0}) found.push_back(metric);
    return found;
  }

  /// Removes what relations between events show to be 0, of an inequality (right - left >= 0) what they show
  /// to be positive.
  void reduce(Linear& difference, bool at_most) const {
    lint::reduce(view_, difference);
    for (const auto& [fact, inequality] : forms_) {
      if (inequality && !at_most) continue;
      subtract(difference, fact, 1);
      if (!inequality) subtract(difference, fact, -1);
    }
    if (at_most) std::erase_if(difference.coefficients, [](const auto& term) { return term.second > 0; });
  }

private:
  /// The variable that has the encoding of an event, or its name where encodings are not known.
  [[nodiscard]] std::optional<formula::Variable> find(const std::string& event) const {
    const preset::Native code = view_.natives ? view_.natives->of(event) : preset::Native{};
    for (std::size_t i = 0; i < view_.names.size(); ++i)
      if (view_.names[i] == event || (code.ok() && view_.codes[i].ok() && view_.codes[i].same_as(code)))
        return static_cast<formula::Variable>(i);
    return {};
  }
  std::optional<formula::Variable> variable(const std::string& event) {
    if (const auto found = find(event)) return found;
    preset::Native code = view_.natives ? view_.natives->of(event) : preset::Native{};
    if (view_.natives && !code.ok()) return {};
    view_.names.push_back(event);
    view_.codes.push_back(std::move(code));
    return static_cast<formula::Variable>(view_.names.size() - 1);
  }
  /// right - left; none where the view lacks an event.
  [[nodiscard]] std::optional<Linear> fact_form(const Identity& fact) const {
    Linear form;
    for (const auto* side : {&fact.left, &fact.right})
      for (const std::string& event : *side) {
        const auto v = find(event);
        if (!v) return {};
        form.coefficients[*v] += side == &fact.right ? 1 : -1;
      }
    std::erase_if(form.coefficients, [](const auto& term) { return term.second == 0; });
    return form.coefficients.empty() ? std::nullopt : std::optional(form);
  }
  /// Takes `sign` times the fact off as often as all its terms are in the form.
  static void subtract(Linear& form, const Linear& fact, std::int64_t sign) {
    std::int64_t times = std::numeric_limits<std::int64_t>::max();
    for (const auto& [v, weight] : fact.coefficients) {
      const auto at = form.coefficients.find(v);
      times = std::min(times, at == form.coefficients.end() ? 0 : at->second / (sign * weight));
    }
    if (times <= 0) return;
    for (const auto& [v, weight] : fact.coefficients)
      form.coefficients[v] -= times * sign * weight;
    std::erase_if(form.coefficients, [](const auto& term) { return term.second == 0; });
  }

  preset::CpuView view_;
  std::vector<Identity> facts_;
  std::vector<std::pair<Linear, bool>> forms_; ///< right - left of the facts; whether >= 0 instead of = 0
  std::map<std::string, Linear> metrics_;
};

/// Sets ground, condition and events of a relation between metrics.
void judge_by_rows(const Algebra& rows, Relation& relation) {
  const auto left = rows.form(relation.identity.left), right = rows.form(relation.identity.right);
  if (!left || !right) return;
  Linear difference = formula::difference(*right, *left);
  for (const auto& [v, weight] : difference.coefficients)
    if (v >= 0) relation.events[rows.view().names[static_cast<std::size_t>(v)]] = -weight;
  const bool at_most = relation.identity.at_most;
  rows.reduce(difference, at_most);
  if (difference.coefficients.empty() && (at_most ? difference.constant >= 0 : difference.constant == 0)) {
    relation.ground = Ground::rows;
    return;
  }
  relation.ground = Ground::neither;
  Linear less, more;
  for (const auto& [v, weight] : difference.coefficients)
    (weight < 0 ? less : more).coefficients[v] = std::abs(weight);
  const auto text = [&](const Linear& form) { return formula::to_text(form, rows.view().names); };
  relation.condition = fmt::format("{} {} {}", text(less), at_most ? "<=" : "=", text(more));
}

std::string side_text(const std::vector<std::string>& metrics) {
  return fmt::format("{}", fmt::join(base::mapped(metrics,
                                                  [](const std::string& metric) {
                                                    return is_preset(metric) ? metric.substr(5) : metric;
                                                  }),
                                     " + "));
}

void add_new(std::vector<Relation>& all, Relation relation) {
  const auto sides = [](const Identity& one) {
    std::set<std::string> left(one.left.begin(), one.left.end()), right(one.right.begin(), one.right.end());
    return !one.at_most && right < left ? std::pair(right, left) : std::pair(left, right);
  };
  relation.identity.text =
      fmt::format("{} {} {}", side_text(relation.identity.left), relation.identity.at_most ? "<=" : "=",
                  side_text(relation.identity.right));
  const auto own = sides(relation.identity);
  if (own.first != own.second && std::ranges::none_of(all, [&](const Relation& one) {
        return one.identity.at_most == relation.identity.at_most && sides(one.identity) == own;
      }))
    all.push_back(std::move(relation));
}

/// Sums of one or two metrics that count the same by the rows.
void add_equal_sums(const Algebra& rows, std::vector<Relation>& all) {
  std::vector<std::pair<std::vector<std::string>, Linear>> sums;
  for (const auto& [metric, form] : rows.metrics()) {
    if (form.coefficients.empty()) continue;
    sums.push_back({{metric}, form});
  }
  const std::size_t singles = sums.size();
  for (std::size_t i = 0; i < singles; ++i)
    for (std::size_t j = i + 1; j < singles; ++j)
      if (sums[i].second != sums[j].second) // else the one with the first alone says it
        sums.push_back({{sums[i].first[0], sums[j].first[0]},
                        formula::difference(sums[i].second, formula::difference({}, sums[j].second))});
  const auto key = [](const auto& sum) { return std::pair(sum.second.coefficients, sum.second.constant); };
  for (const auto& [form, equal] : base::grouped(sums, key))
    for (std::size_t i = 1; i < equal.size(); ++i) {
      const auto &one = equal.front()->first, &other = equal[i]->first;
      const bool shares = std::ranges::any_of(
          one, [&](const auto& metric) { return std::ranges::find(other, metric) != other.end(); });
      if (shares) continue;
      Relation relation{{{}, one, other, false, preset::CpuKind::any, "the rows count the same events"}};
      judge_by_rows(rows, relation);
      add_new(all, std::move(relation));
    }
}

/// Relations between events, of the metrics that count these alone.
void add_facts(const Algebra& rows, std::vector<Relation>& all) {
  for (const Identity& fact : rows.facts()) {
    Relation relation{{{}, {}, {}, fact.at_most, preset::CpuKind::any, fact.why}};
    bool counted = true;
    for (const auto* side : {&fact.left, &fact.right})
      for (const std::string& event : *side) {
        const auto metrics = rows.counting(event);
        counted = counted && !metrics.empty();
        if (counted)
          (side == &fact.left ? relation.identity.left : relation.identity.right).push_back(metrics.front());
      }
    if (!counted) continue;
    judge_by_rows(rows, relation);
    relation.ground = Ground::rows;
    add_new(all, std::move(relation));
  }
}

} // namespace

Relations find_relations(const std::set<std::string>& metrics, const preset::CpuView* view,
                         preset::CpuKind kind) {
  std::optional<Algebra> rows;
  if (view) rows.emplace(metrics, *view);
  Relations found;
  auto& all = found.all;
  for (const Identity& identity : preset::identities()) {
    const auto names = identity.presets();
    if (!identity.applies_to(kind) ||
        !std::ranges::all_of(names, [&](const auto& name) { return metrics.contains(name); }))
      continue;
    Relation relation{identity};
    if (rows) judge_by_rows(*rows, relation);
    add_new(all, std::move(relation));
  }
  if (rows) {
    add_facts(*rows, all);
    add_equal_sums(*rows, all);
    for (const auto& [metric, form] : rows->metrics())
      for (const auto& [v, times] : form.coefficients)
        if (v >= 0) found.counted_by[rows->view().names[static_cast<std::size_t>(v)]].insert(metric);
  }
  return found;
}

namespace {

using TestedRelations = std::vector<std::pair<const Relation*, Tested>>;

bool is_broken(const Tested& tested) {
  return tested.held == statistics::Held::outside;
}

/// How often the wrong value is in left - right.
double weight(const Culprit& cause, const Relation& relation) {
  if (!cause.event.empty()) return static_cast<double>(base::value_at(relation.events, cause.event));
  const auto& metric = *cause.metrics.begin();
  return static_cast<double>(std::ranges::count(relation.identity.left, metric) -
                             std::ranges::count(relation.identity.right, metric));
}

/// Whether there is a correction of the one value with which all relations hold, within noise. It follows
/// from the relation that is broken most, of equality if there is one.
bool explains(const Culprit& cause, const TestedRelations& all) {
  const std::pair<const Relation*, Tested>* decisive = nullptr;
  const auto rank = [](const auto& one) {
    return std::pair(!one.first->identity.at_most,
                     std::abs(one.second.difference.median) / one.second.margin);
  };
  for (const auto& one : all) {
    if (!is_broken(one.second)) continue;
    if (weight(cause, *one.first) == 0) return false;
    if (!decisive || rank(one) > rank(*decisive)) decisive = &one;
  }
  const auto noise = [](const Tested& tested) { return tested.margin + tested.difference.chance; };
  const double of_decisive = weight(cause, *decisive->first);
  const double correction = decisive->second.difference.median / of_decisive;
  return std::ranges::all_of(all, [&](const auto& one) {
    const double times = weight(cause, *one.first);
    const double rest = one.second.difference.median - times * correction;
    const double slack = noise(one.second) + std::abs(times / of_decisive) * noise(decisive->second);
    return rest <= slack && (one.first->identity.at_most || rest >= -slack);
  });
}

/// The metrics of what is broken, and the events of it that several metrics count.
std::vector<Culprit> possible_causes(const TestedRelations& all, const Relations& relations) {
  std::set<Culprit> causes;
  for (const auto& [relation, tested] : all) {
    if (!is_broken(tested)) continue;
    for (const std::string& name : relation->identity.presets())
      causes.insert({{name}, {}});
    for (const auto& [event, times] : relation->events)
      if (const auto& users = base::value_at(relations.counted_by, event); users.size() > 1)
        causes.insert({users, event});
  }
  return {causes.begin(), causes.end()};
}

/// The smallest sets of up to three metrics of which each broken relation has one.
std::vector<std::vector<Culprit>> covers(const TestedRelations& all, const std::vector<Culprit>& causes) {
  std::vector<std::vector<Culprit>> sets{{}};
  for (int size = 1; size <= 3; ++size) {
    std::vector<std::vector<Culprit>> longer, complete;
    for (const auto& set : sets)
      for (const Culprit& cause : causes)
        if (cause.event.empty() && (set.empty() || set.back() < cause)) {
          auto next = set;
          next.push_back(cause);
          const bool covering = std::ranges::all_of(all, [&](const auto& one) {
            return !is_broken(one.second) ||
                   std::ranges::any_of(next, [&](const Culprit& c) { return weight(c, *one.first) != 0; });
          });
          (covering ? complete : longer).push_back(std::move(next));
        }
    if (!complete.empty()) return complete;
    sets = std::move(longer);
  }
  return {};
}

} // namespace

PlaceFindings test_place(const CountedPlace& place, const Relations& relations) {
  PlaceFindings found{.place = &place};
  TestedRelations certain;
  for (const Relation& relation : relations.all) {
    Tolerance tolerance;
    const std::size_t n = place.counted.passes.size(); // fewer than three may be of different executions
    if (relation.ground != Ground::meaning)
      tolerance = {n < 3 ? 0.1 : n < statistics::min_for_outliers ? 0.02 : 0.001, 0};
    for (const std::string& metric : relation.identity.presets())
      tolerance.error += base::value_at(place.errors, metric);
    auto tested = test_relation(place.counted, relation.identity, tolerance);
    if (!tested) continue;
    if (relation.ground != Ground::neither) {
      ++(tested->held == statistics::Held::inside ? found.held : found.undecided);
      certain.emplace_back(&relation, std::move(*tested));
    } else if (is_broken(*tested)) {
      found.explained.emplace_back(&relation, std::move(*tested));
    }
  }
  std::ranges::copy_if(certain, std::back_inserter(found.broken),
                       [](const auto& one) { return is_broken(one.second); });
  found.undecided -= found.broken.size();
  if (found.broken.empty()) return found;
  const auto causes = possible_causes(certain, relations);
  for (const Culprit& cause : causes)
    if (explains(cause, certain)) found.alternatives.push_back({cause});
  if (found.alternatives.empty()) found.alternatives = covers(certain, causes);
  return found;
}

} // namespace recount::check
