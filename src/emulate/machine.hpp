// A simulated machine: its PMUs, and what each event counts. Read from a file of src/emulate/machines, whose
// format recount-emulate(1) describes.
#pragma once

#include "emulate/quantity.hpp"

#include "formula/named.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::emulate {

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
