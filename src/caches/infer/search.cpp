#include "caches/infer/gauge.hpp"

#include <algorithm>

namespace recount::caches {

namespace {

std::vector<Fit> verdicts(Gauge& gauge, const Family& family, const std::vector<std::int64_t>& members) {
  std::vector<kernel::Pattern> patterns;
  for (const std::int64_t n : members)
    patterns.push_back(family(n));
  const auto shares = gauge.shares(patterns);
  std::vector<Fit> all;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    all.push_back(gauge.judge(shares[i], patterns[i].visits()));
  return all;
}

/// At most `count` whole numbers spread evenly between two others.
std::vector<std::int64_t> between(const Boundary& b, std::size_t count) {
  const std::int64_t gap = b.exceeds - b.fits,
                     parts = std::min<std::int64_t>(gap, static_cast<std::int64_t>(count) + 1);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 1; i < parts; ++i)
    all.push_back(b.fits + gap * i / parts);
  return all;
}

/// The next larger members, which would stay if only noise made `n` seem to leave.
std::vector<std::int64_t> doubled(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> all;
  for (std::int64_t larger = 2 * n; larger <= most && larger <= 8 * n; larger *= 2)
    all.push_back(larger);
  return all;
}

} // namespace

Boundary narrow(Gauge& gauge, const Family& family, Boundary b, std::size_t at_once) {
  while (!b.sharp()) {
    const auto members = between(b, at_once);
    const auto said = verdicts(gauge, family, members);
    // Where noise can only make members seem to leave, those below one that stays stay as well.
    std::size_t from = 0;
    if (!members.empty() && gauge.only_too_high(family(members.front())))
      for (std::size_t i = 0; i < members.size(); ++i)
        if (said[i] == Fit::fits) from = i;
    Boundary next = b;
    for (std::size_t i = from; i < members.size() && next.exceeds == b.exceeds; ++i) {
      if (said[i] == Fit::exceeds) next.exceeds = members[i];
      if (said[i] == Fit::fits) next.fits = members[i];
    }
    if (next.fits == b.fits && next.exceeds == b.exceeds) return b; // nothing but unclear ones in between
    b = next;
  }
  return b;
}

Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first, std::int64_t most) {
  Boundary b{0, 0};
  for (std::int64_t n = first; n <= most; n *= 2) {
    const bool exceeds = verdicts(gauge, family, {n}).front() == Fit::exceeds;
    bool noise = false;
    if (exceeds && gauge.only_too_high(family(n)))
      for (const Fit larger : verdicts(gauge, family, doubled(n, most)))
        noise = noise || larger == Fit::fits;
    if (exceeds && !noise) {
      b.exceeds = n;
      return b;
    }
    b.fits = n;
  }
  return b;
}

} // namespace recount::caches
