#include "explain/prediction.hpp"

#include "model/metrics.hpp"
#include "model/nest_simulation.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace recount::explain {
namespace {

using model::Affine;
using model::Bound;
using model::Cause;

/// Records the loops around and the accesses of one product.
class ProductRecorder {
public:
  ProductRecorder(const std::string& order, std::int64_t n, std::int64_t block,
                  const std::optional<model::Placement>& placement)
      : order_(order.substr(0, 3)), unroll_(order.ends_with('2') ? 2 : 1), n_(n), block_(block) {
    constexpr std::uint64_t assumed = std::uint64_t{1} << 46, page = 4096, offset = 16;
    const std::uint64_t pitch = (static_cast<std::uint64_t>(n * n) * bytes + offset + page - 1) / page * page;
    for (unsigned matrix = 0; matrix < bases_.size(); ++matrix)
      bases_[matrix] = static_cast<std::int64_t>(model::array_base(placement, assumed, matrix) + offset +
                                                 (placement ? 0 : matrix * pitch));
  }

  model::Nest record() {
    block_ > 0 ? blocks(0) : loops(0);
    return recorder_.nest();
  }

private:
  static constexpr std::int64_t bytes = 8;
  static std::size_t number(char name) { return static_cast<std::size_t>(name - 'i'); }

  void blocks(std::size_t depth) {
    if (depth == order_.size()) return loops(0);
    recorder_.loop(0, n_, block_, [&](const Affine& first) {
      first_[depth] = first;
      blocks(depth + 1);
    });
  }

  void loops(std::size_t depth) {
    const std::size_t name = number(order_[depth]);
    const bool innermost = depth + 1 == order_.size();
    const auto body = [&](const Affine& variable) {
      at_[name] = variable;
      innermost ? step(name) : loops(depth + 1);
    };
    const std::int64_t by = name == 2 ? unroll_ : 1;
    const bool in_register = innermost && name == 2;
    if (in_register && block_ > 0) load(2, at_[0], at_[1]);
    if (innermost) loads(name == 1, name == 0);
    if (block_ > 0)
      recorder_.loop(first_[name], Bound{first_[name] + block_, Recorder::affine(n_)}, by, body);
    else
      recorder_.loop(0, n_, by, body);
    if (in_register) store(2, at_[0], at_[1]);
  }

  /// Elements of the steps of k. Those that do not depend on the innermost loop are loaded before it.
  void loads(bool a, bool b) {
    for (std::int64_t u = 0; u < unroll_; ++u) {
      const Affine k = at_[2] + u;
      if (a) load(0, at_[0], k);
      if (b) load(1, k, at_[1]);
    }
  }

  void step(std::size_t innermost) {
    loads(innermost != 1, innermost != 0);
    if (innermost == 2) return;
    load(2, at_[0], at_[1]);
    store(2, at_[0], at_[1]);
  }

  void load(unsigned matrix, const Affine& row, const Affine& column) {
    access(Cause::load, matrix, row, column);
  }
  void store(unsigned matrix, const Affine& row, const Affine& column) {
    access(Cause::store, matrix, row, column);
  }
  void access(Cause cause, unsigned matrix, const Affine& row, const Affine& column) {
    recorder_.access(cause, matrix, (row * n_ + column) * bytes + bases_[matrix], bytes);
  }

  using Recorder = model::Recorder;
  std::string order_;
  std::int64_t unroll_, n_, block_;
  std::array<std::int64_t, 3> bases_{};
  std::array<Affine, 3> at_{}, first_{}; ///< of i, j and k
  Recorder recorder_;
};

} // namespace

model::Nest product_nest(const std::string& order, std::int64_t n, std::int64_t block,
                         const std::optional<model::Placement>& placement) {
  return ProductRecorder(order, n, block, placement).record();
}

std::span<const LoopOrder> loop_orders() {
  static constexpr LoopOrder all[] = {
      {"ijk", "i, j, k (simple)"},
      {"ikj", "i, k, j (line)"},
      {"jik", "j, i, k"},
      {"jki", "j, k, i (columns)"},
      {"kij", "k, i, j"},
      {"kji", "k, j, i (columns)"},
      {"ikj2", "i, k, j with two steps of k at a time"},
  };
  return all;
}

const model::MachineDescription& Predictor::first_level(const std::string& name) {
  const auto [at, added] = machines_.try_emplace(name);
  if (!added) return at->second;
  model::MachineDescription machine = model::machine(name);
  machine.levels.resize(1);
  machine.instructions.reset();
  machine.sampled = true;
  machine.sample_unit = model::SampledReplay::least_window;
  const auto page = machine.tlb ? machine.tlb->page : model::Placement{}.page;
  // A first level is indexed within pages: only where the matrices begin matters.
  machine.placement = model::Placement{.contiguous = true, .page = std::max(page, model::Placement{}.page)};
  return at->second = std::move(machine);
}

Predicted Predictor::l1_misses(const std::string& machine, const std::string& order, std::int64_t n,
                               std::int64_t block, std::size_t draws) {
  std::vector<Predicted>& all = cells_[{machine, order, n, block}];
  while (all.size() < draws) {
    model::MachineDescription described = first_level(machine);
    described.placement->draw = all.size();
    described.seed = all.size() + 1;
    model::Hierarchy caches(described);
    model::simulate_nest(product_nest(order, n, block, described.placement), caches);
    const auto count = static_cast<double>(model::metrics(caches).at("PAPI_L1_DCM"));
    const auto errors = model::sampling_errors(caches);
    const auto error = errors.find("PAPI_L1_DCM");
    const double half = error == errors.end() ? 0 : error->second;
    Predicted next = all.empty() ? Predicted{count, count - half, count + half} : all.back();
    next.low = std::min(next.low, count - half);
    next.high = std::max(next.high, count + half);
    all.push_back(next);
  }
  return all[draws - 1];
}

} // namespace recount::explain
