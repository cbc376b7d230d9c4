#include "check/invariants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace recount::check {
namespace {

/// The sum of presets in one pass; nothing where one of them was not counted.
std::optional<double> sum_in(const std::map<std::string, double>& pass,
                             const std::vector<std::string>& presets) {
  double total = 0;
  for (const auto& preset : presets) {
    const auto found = pass.find(preset);
    if (found == pass.end()) return {};
    total += found->second;
  }
  return total;
}

/// Both sides of a relation, over all passes in which each of its presets was counted.
struct Sides {
  statistics::Groups left, right, difference;
};

Sides sides_of(const Counted& counted, const preset::Identity& identity) {
  Sides sides;
  for (const auto& process : counted.passes) {
    std::vector<double> left, right, difference;
    for (const auto& pass : process) {
      const auto l = sum_in(pass, identity.left), r = sum_in(pass, identity.right);
      if (!l || !r) continue;
      left.push_back(*l);
      right.push_back(*r);
      difference.push_back(*l - *r);
    }
    sides.left.push_back(std::move(left));
    sides.right.push_back(std::move(right));
    sides.difference.push_back(std::move(difference));
  }
  return sides;
}

/// Software prefetches miss without being loads, stores or demand reads: no relation between these holds
/// there.
bool prefetches(const result::Params& point) {
  const auto operation = point.find("operation");
  return operation != point.end() && operation->second == result::ParamValue(std::string("prefetch"));
}

} // namespace

std::vector<Broken> broken(const Counted& counted, std::span<const preset::Identity> identities,
                           preset::CpuKind kind) {
  std::vector<Broken> found;
  if (prefetches(counted.point)) return found;
  for (const auto& identity : identities) {
    if (identity.kind != preset::CpuKind::any && identity.kind != kind) continue;
    const Sides sides = sides_of(counted, identity);
    const auto left = statistics::estimate(sides.left), right = statistics::estimate(sides.right),
               difference = statistics::estimate(sides.difference);
    if (!left || !right || !difference) continue;
    const double larger = std::max(std::abs(left->median), std::abs(right->median));
    const double margin = std::max(invariant_tolerance * larger, stray_occurrences);
    const statistics::Band allowed{identity.at_most ? -std::numeric_limits<double>::infinity() : -margin,
                                   margin};
    if (statistics::held(*difference, allowed) == statistics::Held::outside)
      found.push_back({identity, counted.kernel, counted.witness, counted.point, *left, *right, *difference});
  }
  return found;
}

} // namespace recount::check
