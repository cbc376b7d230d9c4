// What code executes, in the quantities that event descriptions of vendors speak of.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace recount::emulate {

// clang-format off
/// Counts of instructions, then of what predictors, caches and TLBs do. A level's misses are those of the
/// requests that reach it, by their first cause; walks are reads of page-table entries.
enum class Quantity : std::size_t {
  instructions, loads, stores, transfers, conditional, taken, jumps, indirect, calls, returns,
  integer, integer_multiplies, integer_divides, fences, atomics, flushes, prefetches,
  mispredicted, mispredicted_indirect, branch_target_misses,
  l1d_load_misses, l1d_store_misses, l1d_walk_misses, l1d_write_backs,
  l2_load_misses, l2_store_misses, l2_walk_misses, l2_write_backs,
  l3_load_misses, l3_store_misses, l3_walk_misses,
  dtlb_load_misses, dtlb_store_misses, load_walks, store_walks,
  prefetch_misses,
  code_lines, l1i_misses, l2_code_misses, l3_code_misses, itlb_misses, code_walks,
  chained_loads, snoops, interrupts, page_faults,
  count
};
inline constexpr const char* quantity_names[] = {
  "instructions", "loads", "stores", "transfers", "conditional", "taken", "jumps", "indirect", "calls", "returns",
  "integer", "integer_multiplies", "integer_divides", "fences", "atomics", "flushes", "prefetches",
  "mispredicted", "mispredicted_indirect", "branch_target_misses",
  "l1d_load_misses", "l1d_store_misses", "l1d_walk_misses", "l1d_write_backs",
  "l2_load_misses", "l2_store_misses", "l2_walk_misses", "l2_write_backs",
  "l3_load_misses", "l3_store_misses", "l3_walk_misses",
  "dtlb_load_misses", "dtlb_store_misses", "load_walks", "store_walks",
  "prefetch_misses",
  "code_lines", "l1i_misses", "l2_code_misses", "l3_code_misses", "itlb_misses", "code_walks",
  "chained_loads", "snoops", "interrupts", "page_faults",
};
// clang-format on
inline constexpr std::size_t plain_quantities = static_cast<std::size_t>(Quantity::count);
static_assert(std::size(quantity_names) == plain_quantities);

/// Floating-point instructions by operation, element and width: "fp_fma_f64_256".
inline constexpr const char* fp_operations[] = {"add", "multiply", "fma", "divide", "root", "invert"};
inline constexpr const char* fp_elements[] = {"f16", "f32", "f64"};
inline constexpr const char* fp_widths[] = {"scalar", "128", "256", "512"};
inline constexpr std::size_t fp_quantities =
    std::size(fp_operations) * std::size(fp_elements) * std::size(fp_widths);
inline constexpr std::size_t all_quantities = plain_quantities + fp_quantities;

/// An amount of each quantity.
struct Work {
  std::array<double, all_quantities> of{};
  double& operator[](Quantity q) { return of[static_cast<std::size_t>(q)]; }
  double operator[](Quantity q) const { return of[static_cast<std::size_t>(q)]; }
};
void add(Work& to, const Work& what, double times = 1);

/// The quantities that a name means: one; or several of floating point where a field of the name reads "any"
/// ("fp_any_f64_256"). Empty: none of that name.
[[nodiscard]] std::vector<std::size_t> quantities_named(const std::string& name);
/// "fp_add_f64_128" of "float_add_f64_128"; throws std::out_of_range for another name.
[[nodiscard]] std::size_t fp_quantity(const std::string& operation, const std::string& element,
                                      const std::string& width);

} // namespace recount::emulate
