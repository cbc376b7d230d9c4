// What the model counts in a cell for a machine: each simulated once. The loops of a cell in any order.
#pragma once

#include "model/machine.hpp"
#include "model/nest.hpp"
#include "model/placement.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace recount::explain {

/// c += a * b for n x n doubles whose first element is 16 bytes from a page boundary, as malloc() returns it.
/// `order`: a permutation of i, j and k, the outermost first; if k is innermost, the sum is kept in a
/// register; "2" behind it: two steps of k at a time. `block` > 0: square blocks, visited in the order of
/// ii, jj and kk, inside of them `order`. Bases of the matrices: model::array_base().
[[nodiscard]] model::Nest product_nest(const std::string& order, std::int64_t n, std::int64_t block,
                                       const std::optional<model::Placement>& placement);

/// A way to write a product, other than as its row is called.
struct LoopOrder {
  const char* order;
  const char* text;
};
[[nodiscard]] std::span<const LoopOrder> loop_orders();

/// A modelled count. Ranges: the draws of placement and the error of sampling.
struct Predicted {
  double value = 0, low = 0, high = 0;
};

/// Simulates PAPI_L1_DCM of products, and keeps what it has simulated. Not thread-safe.
class Predictor {
public:
  /// `machine`: as after "model:", see model::machine(); of its caches only the first level is simulated,
  /// with its prefetchers. `order`: see product_nest(). `draws`: placements of the matrices, 1 at least.
  /// Throws recount::Error (bad_input) for an unknown machine.
  [[nodiscard]] Predicted l1_misses(const std::string& machine, const std::string& order, std::int64_t n,
                                    std::int64_t block, std::size_t draws = 1);
  [[nodiscard]] std::size_t simulated() const { return cells_.size(); }

private:
  using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;
  const model::MachineDescription& first_level(const std::string& machine);

  std::map<std::string, model::MachineDescription> machines_;
  std::map<Key, std::vector<Predicted>> cells_; ///< of the first draw, the first two, and so on
};

} // namespace recount::explain
