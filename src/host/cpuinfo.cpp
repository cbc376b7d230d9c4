#include "host/cpuinfo.hpp"
#include "host/text.hpp"

#include <cstdlib>
#include <map>

namespace recount::host {
namespace {
std::map<std::string, std::string> first_block(std::string_view text) {
  std::map<std::string, std::string> fields;
  for (const auto line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (fields.contains("model name") || fields.contains("CPU part")) break; // the next CPU begins
      continue;
    }
    fields.try_emplace(std::string(trim(line.substr(0, colon))), trim(line.substr(colon + 1)));
  }
  return fields;
}

int as_int(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto it = fields.find(name);
  return it == fields.end() ? 0 : static_cast<int>(std::strtol(it->second.c_str(), nullptr, 0));
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
    if (cpu.name.empty()) cpu.name = "Arm implementer " + cpu.vendor + " part " + as_text(fields, "CPU part");
    return cpu;
  }
  cpu.name = as_text(fields, "model name");
  cpu.vendor = as_text(fields, "vendor_id");
  cpu.family = as_int(fields, "cpu family");
  cpu.model = as_int(fields, "model");
  cpu.stepping = as_int(fields, "stepping");
  const std::string flags = as_text(fields, "flags");
  for (const auto flag : split(flags, ' '))
    cpu.hypervisor |= flag == "hypervisor";
  return cpu;
}

} // namespace recount::host
