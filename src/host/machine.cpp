#include "host/machine.hpp"
#include "base/text.hpp"

#include <cstring>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace recount::host {
namespace {

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  const auto status = base::read_file("/proc/self/status");
  if (!status) return cpus;
  for (const auto line : base::split(*status, '\n')) {
    constexpr std::string_view key = "Cpus_allowed_list:";
    if (line.starts_with(key)) cpus = base::parse_cpu_list(line.substr(key.size()));
  }
  return cpus;
}

/// The signature a hypervisor shows at CPUID leaf 0x40000000 (a convention that all of them follow).
std::string cpuid_hypervisor() {
#if defined(__x86_64__) || defined(__i386__)
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
  if (signature == "TCGTCGTCGTCG") return "QEMU (emulated)";
  if (!signature.empty()) return std::string(signature);
#endif
  return "unknown";
}

std::string hypervisor(const Cpu& cpu) {
  if (cpu.hypervisor) return cpuid_hypervisor();
  if (const auto type = base::read_line("/sys/hypervisor/type")) return *type;
  if (const auto tree = base::read_line("/proc/device-tree/hypervisor/compatible")) return *tree;
  // Arm guests show no flag; the firmware's name of the machine is what is left.
  const std::string product = base::read_line("/sys/class/dmi/id/product_name").value_or("");
  const std::string vendor = base::read_line("/sys/class/dmi/id/sys_vendor").value_or("");
  if (vendor == "QEMU" || product.find("KVM") != std::string::npos) return "QEMU";
  return base::read_line("/proc/device-tree/model").value_or("") == "linux,dummy-virt" ? "QEMU" : "";
}

std::string distribution() {
  const auto text = base::read_file("/etc/os-release");
  if (!text) return {};
  for (auto line : base::split(*text, '\n')) {
    constexpr std::string_view key = "PRETTY_NAME=";
    if (!line.starts_with(key)) continue;
    line = base::trim(line.substr(key.size()));
    if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return {};
}

Machine read_machine() {
  Machine m;
  m.cpu = parse_cpuinfo(base::read_file("/proc/cpuinfo").value_or(""));
  utsname names{};
  ::uname(&names);
  m.architecture = names.machine;
  m.hostname = names.nodename;
  m.os = std::string(names.sysname) + " " + names.release;
  m.distribution = distribution();
  m.libc = std::string("glibc ") + gnu_get_libc_version();
  m.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  m.page_size = ::sysconf(_SC_PAGESIZE);
  m.memory = ::sysconf(_SC_PHYS_PAGES) * m.page_size;
  m.allowed_cpus = allowed_cpus();
  const int first = m.allowed_cpus.empty() ? 0 : m.allowed_cpus.front();
  m.caches = caches_of(first);
  m.threads_per_core = 1 + static_cast<int>(smt_siblings(first).size());
  m.governor =
      base::read_line("/sys/devices/system/cpu/cpu" + std::to_string(first) + "/cpufreq/scaling_governor")
          .value_or("");
  m.hypervisor = hypervisor(m.cpu);
  return m;
}
} // namespace

const Cache* Machine::data_cache(int level) const {
  for (const auto& cache : caches) {
    if (cache.level == level && cache.type != 'i') return &cache;
  }
  return nullptr;
}

const Machine& this_machine() {
  static const Machine machine = read_machine();
  return machine;
}

} // namespace recount::host
