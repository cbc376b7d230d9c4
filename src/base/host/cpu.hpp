// The CPU, the hypervisor and the kernel of this machine: what is known without its topology.
#pragma once

#include <string>
#include <string_view>

namespace recount::host {

/// The identity of a CPU. On x86 as CPUID gives it; on Arm vendor is the implementer ("0x41"), model the
/// part number, stepping the revision, and family the architecture version.
struct Cpu {
  std::string name;   ///< "Intel(R) Core(TM) i7-9700 CPU @ 3.00GHz"; on Arm made of vendor and part
  std::string vendor; ///< "GenuineIntel"
  int family = 0, model = 0, stepping = 0;
  std::string microcode;   ///< "0xf0" (x86); empty: not stated
  bool hypervisor = false; ///< the flag that a hypervisor shows its guests (x86)

  /// Family-model-stepping as PAPI and perf print it: "GenuineIntel-6-158-13".
  [[nodiscard]] std::string identity() const;
};

/// The first CPU that `cpuinfo` describes. Pure.
[[nodiscard]] Cpu parse_cpuinfo(std::string_view cpuinfo);

/// Read once, at the first call. Thread-safe.
[[nodiscard]] const Cpu& this_cpu();

/// "KVM", "unknown" when only the CPUID flag reports one; empty: none seen.
[[nodiscard]] std::string this_hypervisor();

/// "Linux 6.1.0-18-amd64"
[[nodiscard]] std::string this_kernel();

} // namespace recount::host
