// A simulated machine: its PMUs, what each event counts, and the quantities that this is said in. Read from a
// file of src/emulate/machines, whose format recount-emulate(1) describes.
#pragma once

#include "formula/named.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::emulate {

// clang-format off
/// Counts of instructions, then of what predictors, caches and TLBs do. A level's misses are those of the
/// requests that reach it, by their first cause; walks are reads of page-table entries.
enum class Quantity : std::size_t {
  instructions, loads, stores, transfers, conditional, taken, jumps, indirect, calls, returns, system_calls,
  integer, integer_multiplies, integer_divides, fences, atomics, flushes, prefetches,
  mispredicted, mispredicted_taken, mispredicted_indirect, branch_target_misses,
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
  "instructions", "loads", "stores", "transfers", "conditional", "taken", "jumps", "indirect", "calls", "returns", "system_calls",
  "integer", "integer_multiplies", "integer_divides", "fences", "atomics", "flushes", "prefetches",
  "mispredicted", "mispredicted_taken", "mispredicted_indirect", "branch_target_misses",
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

/// A formula over quantities, parameters and names defined before it.
struct Expression {
  recount::formula::Rpn rpn;
  std::vector<std::vector<std::size_t>> operands; ///< indices of values to add up, for each N of the formula
  std::vector<double> numbers;                    ///< of operands that are numbers
};

/// The part of a configuration that selects what is counted; the rest is the filter bits.
struct Code {
  std::uint32_t event = 0, umask = 0, cmask = 0;
  bool inv = false, edge = false, any = false;
  bool operator==(const Code&) const = default;
};
[[nodiscard]] Code code_of(std::uint64_t config);

/// One row of an event table.
struct Row {
  Code code;
  bool any_config1 = true;
  std::uint64_t config1 = 0;
  std::uint64_t counters = ~std::uint64_t{0}; ///< general counters that can count it
  std::optional<Code> leader;                 ///< it counts in a group that this event leads, nowhere else
  Expression count;
  std::string name, description; ///< as the vendor has them
  std::string formula;           ///< text of `count`
};

struct Configuration {
  std::uint64_t config = 0, config1 = 0;
};

/// A counter that counts one event only.
struct Fixed {
  std::vector<Code> codes;
  bool only = false; ///< the event can be counted nowhere else
};

/// Files of a folder of sysfs: name and text.
using Files = std::vector<std::pair<std::string, std::string>>;

/// What sysfs has of a PMU besides its type.
struct Description {
  Files formats, aliases, caps;
  std::string cpus; ///< as stated; empty: all
};

struct Pmu {
  std::string name; ///< "cpu", "cpu_atom"
  std::uint32_t type = 4;
  std::vector<int> cpus; ///< empty: all
  Description description;
  int general_alone = 0; ///< general counters without SMT; 0: as with it
  int general = 4;
  std::vector<Fixed> fixed;
  int width = 48;
  double mhz = 3000;
  std::map<std::uint64_t, Configuration> generic;     ///< of PERF_COUNT_HW_*
  std::map<std::uint64_t, Configuration> cache_event; ///< of id | op << 8 | result << 16
  std::vector<std::string> names; ///< of values beyond the quantities: "let" and "parameter"
  std::vector<Expression> lets;   ///< how to compute them, in order
  std::vector<Row> rows;
  Code cycles; ///< what the NMI watchdog counts
  int cycles_value = -1;
};

struct CacheLevel {
  std::string name;
  std::int64_t size = 0, ways = 0, line = 64;
};
struct TlbLevel {
  std::string name;
  std::int64_t entries = 0, ways = 0;
};

/// As CPUID and /proc/cpuinfo name it.
struct Processor {
  std::string vendor;
  unsigned family = 0, model = 0, stepping = 0;
  std::string microcode, name;
};

/// A PMU of whole CPUs in sysfs that has the type of one of Linux's own (`like`), which it hides.
struct Device {
  std::string name, like, cpumask;
  Description description;
};

struct Machine {
  std::string name, source; ///< source: of what the file states
  Processor processor;
  std::vector<Pmu> pmus;
  std::vector<CacheLevel> caches; ///< L1d, L1i, L2, L3
  std::vector<TlbLevel> tlbs;     ///< data, code, second
  std::vector<Device> devices;
  Files settings;                     ///< of /proc/sys/kernel
  std::vector<std::string> hidden;    ///< features of the processor that the simulated one lacks
  Work background, kernel_background; ///< what a system call about events executes around itself
  Work per_second;                    ///< what a program does that no kernel of recount is part of
  std::optional<Work> program; ///< all that a process executes which is counted from outside; instead of that
};

/// Throws std::runtime_error, "FILE:LINE: what is wrong". `changes` is text in the same format, read after
/// the file: "parameter noise 0.01\nchange 0x51.0x01 = 2 * it".
[[nodiscard]] Machine read_machine(const std::string& file, const std::string& changes);

/// The values that expressions of the PMU are computed over: the quantities, then its names.
[[nodiscard]] std::vector<double> values(const Pmu& pmu, const Work& work);
[[nodiscard]] double evaluate(const Expression& expression, const std::vector<double>& values);

} // namespace recount::emulate
