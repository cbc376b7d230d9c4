// Replays a prepared loop nest; innermost iterations that can only hit are counted without simulating them.
#pragma once

#include "model/hierarchy.hpp"
#include "model/nest.hpp"

#include <cstdint>
#include <vector>

namespace recount::model {

/// Not thread-safe.
class NestReplay {
public:
  explicit NestReplay(Hierarchy& caches);

  Environment variables{}; ///< of the loops around what is replayed

  void nodes(const std::vector<NestNode>& nodes);
  void node(const NestNode& node);
  void loop(const NestLoop& loop);
  /// The iterations of a loop that is not innermost. after(iterations done, all) ends them if it returns
  /// true; whether it did.
  template <class After>
  bool iterations(const NestLoop& loop, After&& after) {
    const std::int64_t trips = loop.trips(variables), first = loop.first.at(variables);
    for (std::int64_t trip = 0; trip < trips;) {
      variables[loop.variable] = first + trip++ * loop.step;
      nodes(loop.body);
      if (after(trip, trips)) return true;
    }
    return false;
  }
  /// Whether a comparison of states takes less time than an iteration of the loop.
  [[nodiscard]] bool comparing_pays(const NestLoop& loop);

  struct Walker { ///< an access of an innermost loop
    std::int64_t address = 0, step = 0;
    unsigned bytes = 1;
    bool store = false;
  };

private:
  void innermost(const NestLoop& loop, std::int64_t trips);
  void every_iteration(std::int64_t trips);
  void iteration();

  Hierarchy& caches_;
  std::int64_t line_;  ///< bytes, of the first level
  bool skips_;         ///< hits change nothing but the order of use: a streamer follows them as well
  bool stores_stay_;   ///< in the first level
  std::size_t kept_;   ///< lines and pages used last that are certainly in the first cache and TLB level
  std::int64_t state_; ///< words of the caches' state
  std::vector<Walker> walkers_; ///< accesses of the innermost loop
};

} // namespace recount::model
