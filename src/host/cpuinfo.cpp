#include "base/text.hpp"
#include "host/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

namespace recount::host {
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

int as_int(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto it = fields.find(name);
  return it == fields.end() ? 0 : static_cast<int>(std::strtol(it->second.c_str(), nullptr, 0));
}

/// Arm CPUs tell numbers only. Source: arch/arm64/include/asm/cputype.h of Linux.
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

std::string arm_name(int implementer, int part, const std::string& otherwise) {
  const auto known = std::find_if(arm_parts.begin(), arm_parts.end(), [&](const ArmPart& one) {
    return one.implementer == implementer && one.part == part;
  });
  return known == arm_parts.end() ? otherwise : known->name;
}

std::string as_text(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string() : it->second;
}
} // namespace

std::string Cpu::identity() const {
  return vendor + "-" + std::to_string(family) + "-" + std::to_string(model) + "-" + std::to_string(stepping);
}

Cpu parse_cpuinfo(std::string_view cpuinfo) {
  const auto fields = first_block(cpuinfo);
  Cpu cpu;
  if (fields.contains("CPU part")) {
    cpu.vendor = as_text(fields, "CPU implementer");
    cpu.family = as_int(fields, "CPU architecture");
    cpu.model = as_int(fields, "CPU part");
    cpu.stepping = as_int(fields, "CPU revision");
    cpu.name = as_text(fields, "model name");
    if (cpu.name.empty())
      cpu.name = arm_name(as_int(fields, "CPU implementer"), cpu.model,
                          "Arm implementer " + cpu.vendor + " part " + as_text(fields, "CPU part"));
    return cpu;
  }
  cpu.name = as_text(fields, "model name");
  cpu.vendor = as_text(fields, "vendor_id");
  cpu.family = as_int(fields, "cpu family");
  cpu.model = as_int(fields, "model");
  cpu.stepping = as_int(fields, "stepping");
  cpu.microcode = as_text(fields, "microcode");
  const std::string flags = as_text(fields, "flags");
  for (const auto flag : base::split(flags, ' '))
    cpu.hypervisor |= flag == "hypervisor";
  return cpu;
}

} // namespace recount::host
