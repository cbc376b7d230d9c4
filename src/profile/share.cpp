// Apart, since Boost.Math takes long to compile.
#include "profile/rows.hpp"
#include "statistics/policy.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

namespace recount::profile {

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

} // namespace recount::profile
