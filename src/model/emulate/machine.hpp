// A simulated machine: the PMUs, the formula of each event, and the quantities that formulas use. Read from a
// file of src/model/emulate/machines, whose format recount-emulate(1) describes.
#pragma once

#include "base/formula/named.hpp"

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
#define RECOUNT_QUANTITIES(EACH) \
  EACH(instructions) EACH(loads) EACH(stores) EACH(transfers) EACH(conditional) EACH(taken) EACH(jumps) EACH(indirect) EACH(calls) \
  EACH(returns) EACH(system_calls) EACH(integer) EACH(integer_multiplies) EACH(integer_divides) EACH(fences) EACH(atomics) \
  EACH(flushes) EACH(prefetches) \
  EACH(mispredicted) EACH(mispredicted_taken) EACH(mispredicted_indirect) EACH(branch_target_misses) \
  EACH(l1d_load_misses) EACH(l1d_store_misses) EACH(l1d_walk_misses) EACH(l1d_write_backs) \
  EACH(l2_load_misses) EACH(l2_store_misses) EACH(l2_walk_misses) EACH(l2_write_backs) \
  EACH(l3_load_misses) EACH(l3_store_misses) EACH(l3_walk_misses) \
  EACH(dtlb_load_misses) EACH(dtlb_store_misses) EACH(load_walks) EACH(store_walks) EACH(prefetch_misses) \
  EACH(code_lines) EACH(l1i_misses) EACH(l2_code_misses) EACH(l3_code_misses) EACH(itlb_misses) EACH(code_walks) \
  EACH(chained_loads) EACH(snoops) EACH(interrupts) EACH(page_faults)
#define RECOUNT_ENUMERATOR(name) name,
#define RECOUNT_TEXT(name) #name,
/// Counts of instructions, then of what predictors, caches and TLBs do. A level's misses are those of the
/// requests that reach it, by their first cause; walks are reads of page-table entries.
enum class Quantity : std::size_t { RECOUNT_QUANTITIES(RECOUNT_ENUMERATOR) count };
inline constexpr const char* quantity_names[] = {RECOUNT_QUANTITIES(RECOUNT_TEXT)};
// clang-format on
#undef RECOUNT_QUANTITIES
#undef RECOUNT_ENUMERATOR
#undef RECOUNT_TEXT
inline constexpr std::size_t plain_quantities = static_cast<std::size_t>(Quantity::count);

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
/// The quantity of these three fields; throws std::out_of_range if a field has another value.
[[nodiscard]] std::size_t fp_quantity(const std::string& operation, const std::string& element,
                                      const std::string& width);

/// A formula over quantities, parameters and names defined before it.
struct Expression {
  recount::formula::Rpn rpn;
  std::vector<std::vector<std::size_t>> operands; ///< indices of values to add up, for each N of the formula
  std::vector<double> numbers;                    ///< of operands that are numbers
};

/// The part of a configuration that selects what is counted; the rest is the filter bits.
struct EventSelect {
  std::uint32_t event = 0, umask = 0, cmask = 0;
  bool inv = false, edge = false, any = false;
  bool operator==(const EventSelect&) const = default;
};
[[nodiscard]] EventSelect decode_config(std::uint64_t config);

/// One row of an event table.
struct SimulatedEvent {
  EventSelect code;
  bool any_config1 = true;
  std::uint64_t config1 = 0;
  std::uint64_t counters = ~std::uint64_t{0}; ///< general counters that can count it
  std::optional<EventSelect> leader;          ///< counts only in a group led by this event
  Expression count;
  std::string name, description; ///< by the vendor
  std::string formula;           ///< text of `count`
  bool changed = false;          ///< by the command line
};

struct Configuration {
  std::uint64_t config = 0, config1 = 0;
};

/// A counter that counts one event only.
struct FixedCounter {
  std::vector<EventSelect> codes;
  bool only = false; ///< the event can be counted nowhere else
};

/// Files of a folder of sysfs: name and text.
using Files = std::vector<std::pair<std::string, std::string>>;

/// The files of a PMU in sysfs, without its type.
struct PmuFiles {
  Files formats, aliases, caps;
  std::string cpus; ///< as in the machine file; empty: all
};

struct SimulatedPmu {
  std::string name; ///< "cpu", "cpu_atom"
  std::uint32_t type = 4;
  std::vector<int> cpus; ///< empty: all
  PmuFiles description;
  int general_alone = 0; ///< general counters without SMT; 0: as with it
  int general = 4;
  std::vector<FixedCounter> fixed;
  int width = 48;
  double mhz = 3000;
  std::map<std::uint64_t, Configuration> generic;     ///< of PERF_COUNT_HW_*
  std::map<std::uint64_t, Configuration> cache_event; ///< of id | op << 8 | result << 16
  std::vector<std::string> names; ///< of values beyond the quantities: "let" and "parameter"
  std::vector<Expression> lets;   ///< how to compute them, in order
  std::vector<SimulatedEvent> rows;
  EventSelect cycles; ///< what the NMI watchdog counts
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

/// Uncore PMU in sysfs. It takes the type of a PMU of Linux (`like`) and hides that one.
struct Device {
  std::string name, like, cpumask;
  PmuFiles description;
};

struct SimulatedMachine {
  std::string name, source; ///< source: of the figures in the file
  Processor processor;
  std::vector<SimulatedPmu> pmus;
  std::vector<CacheLevel> caches; ///< L1d, L1i, L2, L3
  std::vector<TlbLevel> tlbs;     ///< data, code, second
  std::vector<Device> devices;
  Files settings;                     ///< of /proc/sys/kernel
  std::vector<std::string> hidden;    ///< features of the processor that the simulated one lacks
  Work background, kernel_background; ///< work of a perf_event system call: user, kernel
  Work per_second;                    ///< work per CPU second outside recount's kernels
  std::optional<Work>
      program; ///< totals of a process that is counted from outside, in place of simulated work
};

/// Throws std::runtime_error, "FILE:LINE: what is wrong". `changes` is text in the same format, read after
/// the file: "parameter noise 0.01\nchange 0x51.0x01 = 2 * it".
[[nodiscard]] SimulatedMachine read_machine(const std::string& file, const std::string& changes);

/// The values that expressions of the PMU are computed over: the quantities, then its names.
[[nodiscard]] std::vector<double> values(const SimulatedPmu& pmu, const Work& work);
[[nodiscard]] double evaluate(const Expression& expression, const std::vector<double>& values);

} // namespace recount::emulate
