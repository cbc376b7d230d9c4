// What this machine is: facts that are recorded with every result.
#pragma once

#include "base/host/cpu.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::host {

/// One cache as hwloc reports it (from sysfs or CPUID).
struct Cache {
  int level = 0;                          ///< 1, 2, 3 ...
  char type = 'u';                        ///< 'd' data, 'i' instruction, 'u' unified
  std::int64_t size = 0;                  ///< bytes
  std::int64_t line = 0;                  ///< bytes; 0: not stated
  std::int64_t ways = 0;                  ///< 0: not stated, -1: fully associative
  int shared_by = 1;                      ///< hardware threads that share it
  [[nodiscard]] std::string name() const; ///< "L1d", "L1i", "L2"
};

/// This machine. A text is empty where the machine does not report it.
struct Machine {
  Cpu cpu;
  std::string architecture;      ///< "x86_64"
  int cpus = 0;                  ///< online hardware threads
  std::vector<int> allowed_cpus; ///< those this process may run on
  int threads_per_core = 1;
  std::vector<Cache> caches;  ///< of the first allowed CPU, from the innermost outwards
  std::int64_t page_size = 0; ///< bytes
  std::int64_t memory = 0;    ///< bytes installed
  std::string hostname;
  std::string os;           ///< "Linux 6.1.0-18-amd64"
  std::string distribution; ///< "Debian GNU/Linux 12 (bookworm)"
  std::string libc;         ///< "glibc 2.36"
  std::string governor;     ///< cpufreq governor of the first allowed CPU
  std::string hypervisor;   ///< "KVM", "unknown" when only the CPUID flag says so; empty: none seen
  [[nodiscard]] bool virtualised() const { return !hypervisor.empty(); }
  /// The data or unified cache of a level, if there is one.
  [[nodiscard]] const Cache* data_cache(int level) const;
};

/// The rest of the first line of a file that begins with the key, without blanks at its ends; empty: there is
/// none.
[[nodiscard]] std::string value_in(const std::string& file, std::string_view key);

/// Read once, at the first call (hwloc takes some milliseconds). Thread-safe.
[[nodiscard]] const Machine& this_machine();

/// Caches of one CPU, where cores differ (hybrid CPUs). Empty when hwloc knows no such CPU.
[[nodiscard]] std::vector<Cache> read_caches(int cpu);

/// The same as the CPU itself states it by CPUID (x86), where shared_by is the number of ids reserved for
/// threads that share the cache. Empty where nothing is stated.
[[nodiscard]] std::vector<Cache> caches_by_cpuid(int cpu);

/// Entries of one level of the data TLB for pages of one size.
struct Tlb {
  int level = 0;                      ///< 1, 2
  std::int64_t page = 0;              ///< bytes: 4096 or 2 MiB
  std::int64_t entries = 0, ways = 0; ///< fully associative: as many ways as entries
  bool operator==(const Tlb&) const = default;
};

/// EAX, EBX, ECX and EDX of a CPUID leaf and its index (ECX); none: the CPU does not have the leaf.
using CpuidReader =
    std::function<std::optional<std::array<std::uint32_t, 4>>(std::uint32_t leaf, std::uint32_t index)>;

/// The data TLBs that CPUID states, by page size and level. Levels of a page size are only returned if all of
/// them are known. Entries for stores alone are left out. Pure.
[[nodiscard]] std::vector<Tlb> decode_tlbs(const CpuidReader& read);
[[nodiscard]] std::vector<Tlb> tlbs_by_cpuid(int cpu);

/// The other hardware threads of this CPU's core.
[[nodiscard]] std::vector<int> smt_siblings(int cpu);

/// Of hwloc's interface: "2.8.0".
[[nodiscard]] std::string hwloc_version();

} // namespace recount::host
