// Which CPU this is, from the text of /proc/cpuinfo.
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
  bool hypervisor = false; ///< the flag that a hypervisor shows its guests (x86)

  /// Family-model-stepping as PAPI and perf print it: "GenuineIntel-6-158-13".
  [[nodiscard]] std::string identity() const;
};

/// The first CPU that `cpuinfo` describes. Pure.
[[nodiscard]] Cpu parse_cpuinfo(std::string_view cpuinfo);

} // namespace recount::host
