#include "profile/profile_rows.hpp"

#include "base/nearest.hpp"
#include "statistics/statistics.hpp"

#include <recount/error.hpp>

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace recount::profile {
namespace {
/// In the order of By.
const std::vector<std::string> by_names{"module",  "symbol", "function",   "line",
                                        "address", "object", "line+object"};

/// The row of one place alone; what `by` does not distinguish is empty.
ProfileRow make_row(const Located& at, By by) {
  ProfileRow row;
  if (by == By::object) return row;
  row.module = at.module;
  if (by == By::module) return row;
  const symbol::Frame& frame = by == By::symbol ? at.function() : at.frames.front();
  row.function = frame.function;
  row.inlined = frame.inlined;
  const bool by_name = by == By::symbol || by == By::function;
  if (!row.inlined && !(by_name && row.function.empty())) {
    row.start = at.start;
    row.end = at.end;
  }
  if (by_name) return row;
  row.source = at.source();
  row.file = frame.file;
  row.line = frame.line;
  if (by == By::address || row.line == 0) row.address = at.address;
  if (by == By::address) row.instruction = at.instruction;
  return row;
}

void add_object(std::optional<DataObject>& sum, const DataObject& object) {
  if (!sum) {
    sum = object;
    return;
  }
  sum->bytes += object.bytes;
  sum->blocks += object.blocks;
  sum->low = std::min(sum->low, object.low);
  sum->high = std::max(sum->high, object.high);
}
} // namespace

By parse_by(const std::string& name) {
  const auto known = std::ranges::find(by_names, name);
  if (known == by_names.end())
    throw bad_input(
        "--by " + name, "is not a grouping of samples",
        base::did_you_mean(name, by_names, "module, symbol, function, line, address, object or line+object"));
  return static_cast<By>(known - by_names.begin());
}

std::string name_of(By by) {
  return by_names[static_cast<std::size_t>(by)];
}

bool by_object(By by) {
  return by == By::object || by == By::line_object;
}

By figure_by(const std::vector<By>& ways) {
  const bool by_symbol = ways.empty() || ways.front() == By::address || by_object(ways.front()) ||
                         std::ranges::find(ways, By::symbol) != ways.end();
  return by_symbol ? By::symbol : ways.front();
}

Share share_of(double k, double n) {
  Share share;
  if (!(n > 0)) return share;
  k = std::clamp(k, 0.0, n);
  share.value = k / n;
  constexpr double tail = 0.025;
  using Binomial = boost::math::binomial_distribution<double, statistics::Double>;
  share.low = k > 0 ? Binomial::find_lower_bound_on_p(n, k, tail) : 0;
  share.high = k < n ? Binomial::find_upper_bound_on_p(n, k, tail) : 1;
  return share;
}

Share share_of(const Tally& part, const Places& places, std::size_t event, bool exact) {
  const double all = static_cast<double>(places.total(event).weight), n = places.effective(event);
  Share share = share_of(all > 0 ? static_cast<double>(part.weight) / all * n : 0, n);
  share.exact = exact && n > 0;
  if (share.exact) share.low = share.high = share.value;
  return share;
}

std::vector<ProfileRow> group_places(const Places& places, const Naming& naming, By by) {
  using Key =
      std::tuple<std::string, std::string, std::string, int, std::uint64_t, std::uint64_t, std::string>;
  std::map<Key, ProfileRow> rows;
  std::set<std::pair<const ProfileRow*, std::uint32_t>> added; // objects of a row
  for (std::size_t i = 0; i < naming.places.size(); ++i) {
    if (without_samples(places.tally(i))) continue; // only in chains
    ProfileRow one = make_row(naming.places[i], by);
    const std::uint32_t number = by_object(by) ? places.places()[i].object : 0;
    const DataObject* const object = number > 0 ? &naming.objects.at(number - 1) : nullptr;
    Key key(one.module, one.function, one.file, one.line, one.address, one.start,
            object ? object->name + '\n' + object->module : std::string());
    ProfileRow& row = rows.try_emplace(std::move(key), std::move(one)).first->second;
    if (object && added.emplace(&row, number).second) add_object(row.object, *object);
    add(row.tallies, places.tally(i));
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows)
    sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const ProfileRow& a, const ProfileRow& b) {
    return std::ranges::lexicographical_compare(a.tallies, b.tallies, std::greater(), &Tally::weight,
                                                &Tally::weight);
  });
  return sorted;
}

} // namespace recount::profile
