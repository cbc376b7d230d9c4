// Times two implementations alternately in one run, so that disturbances affect both.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace recount::bench {

/// Median nanoseconds per operation, and their ratio per round.
struct Compared {
  double raw_ns, papi_ns;
  double ratio, low, high; ///< median, 10 % and 90 % quantile
};

/// The q-quantile by nearest rank; reorders.
inline double quantile(std::vector<double>& of, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(of.size() - 1) + 0.5);
  std::nth_element(of.begin(), of.begin() + at, of.end());
  return of[static_cast<std::size_t>(at)];
}

/// Nanoseconds per call of a batch.
template <class Operation>
double time_batch(int batch, const Operation& operation) {
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < batch; ++i)
    operation();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - before;
  return took.count() / batch;
}

/// The order within a round alternates: so that neither always inherits the caches of the other.
template <class Raw, class Papi>
Compared compare(int rounds, int batch, const Raw& raw, const Papi& papi) {
  time_batch(batch, raw); // the first calls bind symbols and touch pages
  time_batch(batch, papi);
  std::vector<double> raw_ns, papi_ns, ratios;
  for (int round = 0; round < rounds; ++round) {
    double r = 0, p = 0;
    if (round % 2 == 0) {
      r = time_batch(batch, raw);
      p = time_batch(batch, papi);
    } else {
      p = time_batch(batch, papi);
      r = time_batch(batch, raw);
    }
    raw_ns.push_back(r);
    papi_ns.push_back(p);
    ratios.push_back(r / p);
  }
  return {quantile(raw_ns, 0.5), quantile(papi_ns, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.1),
          quantile(ratios, 0.9)};
}

} // namespace recount::bench
