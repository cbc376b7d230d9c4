#include "base/host/cpu.hpp"

#include "base/text.hpp"

#include <sys/utsname.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

namespace recount::host {
namespace {

/// The signature a hypervisor shows at CPUID leaf 0x40000000 (a convention that all of them follow).
std::string cpuid_hypervisor() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __cpuid(0x40000000, eax, ebx, ecx, edx);
  char text[13] = {};
  std::memcpy(text, &ebx, 4);
  std::memcpy(text + 4, &ecx, 4);
  std::memcpy(text + 8, &edx, 4);
  const std::string_view signature = base::trim(std::string_view(text, std::strlen(text)));
  if (signature == "KVMKVMKVM") return "KVM";
  if (signature == "VMwareVMware") return "VMware";
  if (signature == "Microsoft Hv") return "Hyper-V";
  if (signature == "XenVMMXenVMM") return "Xen";
  if (signature == "bhyve bhyve") return "bhyve";
  if (signature == "TCGTCGTCGTCG") return "QEMU (emulated)";
  const bool text_only = std::ranges::all_of(signature, [](char c) { return c >= ' ' && c <= '~'; });
  if (text_only && !signature.empty()) return std::string(signature); // Valgrind answers by numbers
#endif
  return "unknown";
}

} // namespace

std::string this_hypervisor() {
  if (this_cpu().hypervisor) return cpuid_hypervisor();
  if (const auto type = base::read_trimmed("/sys/hypervisor/type")) return *type;
  if (const auto tree = base::read_trimmed("/proc/device-tree/hypervisor/compatible")) return *tree;
  // Arm guests show no flag; the firmware's name of the machine is what is left.
  const std::string product = base::read_trimmed("/sys/class/dmi/id/product_name").value_or("");
  const std::string vendor = base::read_trimmed("/sys/class/dmi/id/sys_vendor").value_or("");
  if (vendor == "QEMU" || product.find("KVM") != std::string::npos) return "QEMU";
  return base::read_trimmed("/proc/device-tree/model").value_or("") == "linux,dummy-virt" ? "QEMU" : "";
}

std::string this_kernel() {
  utsname names{};
  ::uname(&names);
  return std::string(names.sysname) + " " + names.release;
}

const Cpu& this_cpu() {
  static const Cpu cpu = parse_cpuinfo(base::read_file("/proc/cpuinfo").value_or(""));
  return cpu;
}

namespace {
std::map<std::string, std::string> first_block(std::string_view text) {
  std::map<std::string, std::string> fields;
  for (const auto line : base::split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (fields.contains("model name") || fields.contains("CPU part")) break; // the next CPU begins
      continue;
    }
    fields.try_emplace(std::string(base::trim(line.substr(0, colon))), base::trim(line.substr(colon + 1)));
  }
  return fields;
}

/// Arm CPUs report numbers only. Source: arch/arm64/include/asm/cputype.h of Linux.
struct ArmPart {
  int implementer, part;
  const char* name;
};
constexpr std::array arm_parts{
    ArmPart{0x41, 0xd03, "Arm Cortex-A53"},  ArmPart{0x41, 0xd04, "Arm Cortex-A35"},
    ArmPart{0x41, 0xd05, "Arm Cortex-A55"},  ArmPart{0x41, 0xd07, "Arm Cortex-A57"},
    ArmPart{0x41, 0xd08, "Arm Cortex-A72"},  ArmPart{0x41, 0xd09, "Arm Cortex-A73"},
    ArmPart{0x41, 0xd0a, "Arm Cortex-A75"},  ArmPart{0x41, 0xd0b, "Arm Cortex-A76"},
    ArmPart{0x41, 0xd0c, "Arm Neoverse N1"}, ArmPart{0x41, 0xd0d, "Arm Cortex-A77"},
    ArmPart{0x41, 0xd40, "Arm Neoverse V1"}, ArmPart{0x41, 0xd41, "Arm Cortex-A78"},
    ArmPart{0x41, 0xd44, "Arm Cortex-X1"},   ArmPart{0x41, 0xd49, "Arm Neoverse N2"},
    ArmPart{0x41, 0xd4f, "Arm Neoverse V2"}, ArmPart{0x43, 0x0af, "Cavium ThunderX2"},
    ArmPart{0x46, 0x001, "Fujitsu A64FX"},   ArmPart{0x48, 0xd01, "HiSilicon TSV110"},
    ArmPart{0xc0, 0xac3, "Ampere-1"},
};
} // namespace

std::string Cpu::identity() const {
  return vendor + "-" + std::to_string(family) + "-" + std::to_string(model) + "-" + std::to_string(stepping);
}

Cpu parse_cpuinfo(std::string_view cpuinfo) {
  auto fields = first_block(cpuinfo); // a field that is missing is empty, or 0
  const auto number = [&](const char* name) {
    return static_cast<int>(std::strtol(fields[name].c_str(), nullptr, 0));
  };
  Cpu cpu;
  cpu.name = fields["model name"];
  if (fields.contains("CPU part")) {
    cpu.vendor = fields["CPU implementer"];
    cpu.family = number("CPU architecture");
    cpu.model = number("CPU part");
    cpu.stepping = number("CPU revision");
    const auto known = std::ranges::find_if(arm_parts, [&](const ArmPart& one) {
      return one.implementer == number("CPU implementer") && one.part == cpu.model;
    });
    if (cpu.name.empty())
      cpu.name = known != arm_parts.end() ? known->name
                                          : "Arm implementer " + cpu.vendor + " part " + fields["CPU part"];
    return cpu;
  }
  cpu.vendor = fields["vendor_id"];
  cpu.family = number("cpu family");
  cpu.model = number("model");
  cpu.stepping = number("stepping");
  cpu.microcode = fields["microcode"];
  const std::string flags = fields["flags"];
  cpu.hypervisor = std::ranges::count(base::split(flags, ' '), "hypervisor") > 0;
  return cpu;
}

} // namespace recount::host
