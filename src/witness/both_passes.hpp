// The order of executions with two witnesses, and their observations.
#pragma once

#include "witness/nested.hpp"
#include "witness/witness.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace recount::witness {

/// Executions of the region for each set.
inline constexpr std::size_t passes = 4;

enum class Interface { perf, papi };

/// The interfaces that count a set, and their order.
struct PassPlan {
  bool perf = true, papi = true, together = true;
  [[nodiscard]] std::vector<Order> orders(std::size_t pass) const {
    const bool first = pass == 0 || pass == 3;
    if (!papi) return {Order::perf_alone};
    if (!perf) return {Order::papi_alone};
    if (together) return {first ? Order::perf_outside : Order::papi_outside};
    return first ? std::vector{Order::perf_alone, Order::papi_alone}
                 : std::vector{Order::papi_alone, Order::perf_alone};
  }
  [[nodiscard]] const char* nesting(Order order, Interface interface) const {
    if (!perf || !papi) return "";
    if (!together) return "apart";
    return (order == Order::perf_outside) == (interface == Interface::perf) ? "outer" : "inner";
  }
};

[[nodiscard]] inline bool counts(Order order, Interface interface) {
  return order != (interface == Interface::perf ? Order::papi_alone : Order::perf_alone);
}

/// All observations of a run: by metric, pass and witness.
class PassObservations {
public:
  PassObservations(const Task& task, std::int64_t accesses) {
    for (const auto& metric : task.metrics)
      for (std::size_t pass = 0; pass < passes; ++pass)
        for (const char* witness : {"perf", "papi"}) {
          auto& o = all_.emplace_back(blank(task, metric));
          o.witness = witness;
          o.repetition = task.repetition * static_cast<int>(passes) + static_cast<int>(pass);
          o.accesses = accesses;
        }
  }
  [[nodiscard]] result::Observation& at(std::size_t metric, std::size_t pass, Interface interface) {
    return all_[(metric * passes + pass) * 2 + (interface == Interface::papi ? 1 : 0)];
  }
  template <class Put>
  void every(std::size_t metric, Interface interface, const Put& put) {
    for (std::size_t pass = 0; pass < passes; ++pass)
      put(at(metric, pass, interface));
  }
  [[nodiscard]] std::vector<result::Observation> all() && { return std::move(all_); }

private:
  std::vector<result::Observation> all_;
};

} // namespace recount::witness
