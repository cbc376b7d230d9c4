// What a reader of matrix results should be value beside the numbers. Pure, over what was observed.
#pragma once

#include "matmul/products.hpp"
#include "model/machine.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount::matmul {

struct Remark {
  std::string title;                 ///< "L2 misses above L1 misses"
  std::string text;                  ///< sentences
  std::vector<std::string> evidence; ///< a line each
  /// Not a finding: differences that cannot be told from noise. The title is ignored; the evidence is listed.
  bool undecided = false;
};

/// A difference that is not stated, with the reason.
[[nodiscard]] Remark undecided(const std::string& what, const Quantity& comparison);

/// Where a machine's levels end, for remarks that speak of capacities.
struct Capacities {
  std::string machine; ///< "i7-9700", "this machine"
  struct Level {
    std::string name; ///< "L1d"
    std::int64_t bytes = 0;
  };
  std::vector<Level> levels;
  std::int64_t line = 64, page = 4096;   ///< bytes
  std::optional<std::int64_t> tlb_pages; ///< entries of the last TLB level; nothing: not described
};

/// Counted misses of L2 that exceed those of L1, explained by the formulas of the presets where the run
/// states them. `modelled`: results with the model's answer for the same products, by `model`; may be null.
[[nodiscard]] std::vector<Remark> misses_out_of_order(const Products& group, const Products* modelled,
                                                      const Witness& model);

/// The parts of each published value of the presets that the machine of witness `model` describes, by that
/// model: demand, page walks, prefetchers.
[[nodiscard]] std::vector<Remark> parts_of_presets(const Products& published, const Products& modelled,
                                                   const Witness& model,
                                                   const model::MachineDescription& machine);

/// Products that are faster than what they are compared with though fewer of their accesses hit L1.
[[nodiscard]] std::vector<Remark> faster_with_fewer_hits(const Products& group);

/// What including the transposition changes.
[[nodiscard]] std::vector<Remark> transposition(const Products& group);

/// Sizes between which the cost of a step leaps, and which part of the machine makes it leap: the model with
/// and without it, and what outgrows which capacity.
[[nodiscard]] std::vector<Remark> cliffs(const Products& measured, const Products& modelled,
                                         const Witness& model, const Capacities& machine);

/// Sizes at which lines compete for few sets: fewer misses in fully associative caches.
[[nodiscard]] std::vector<Remark> conflicts(const Products& modelled, const Witness& model);

/// Which blocks fit which level.
[[nodiscard]] std::vector<Remark> blocks_that_fit(const Products& group, const Capacities& machine);

/// Another language against C++ at the largest size of each loops: both compilers, and whether vectorisation
/// could be the cause.
[[nodiscard]] std::vector<Remark> languages(const Products& group);

/// Repetitions that break the pattern of their siblings.
[[nodiscard]] std::vector<Remark> odd_ones(const Products& group);

// Repetitions that break the pattern of their siblings: value, never averaged silently. Pure.

/// One repetition disturbed.
struct OddRepetition {
  Product product;
  Witness witness;
  std::string metric;
  int repetition = 0;
  double value = 0;
  double siblings = 0; ///< median of the others
  std::string what;    ///< a clause: "25 % below the other four, which agree within 1 %"
};

/// A repetition this share away from the median of its siblings is odd, provided that it is also further
/// than `times` the whole spread of the siblings.
inline constexpr double odd_share = 0.10, odd_times = 3;

/// Two kinds: one repetition far from siblings that agree among themselves (three of them at least); and one
/// in which two metrics of one witness have exactly the same value, which they have in no other repetition.
/// Modelled values have no repetitions.
[[nodiscard]] std::vector<OddRepetition> odd_repetitions(const Products& group);

} // namespace recount::matmul
