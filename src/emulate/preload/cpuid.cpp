#include "emulate/preload/cpuid.hpp"

#include "emulate/preload/kept_signal.hpp"
#include "emulate/preload/program_symbols.hpp"
#include "emulate/real.hpp"
#include "emulate/settings.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cpuid.h>
#include <csignal>
#include <cstring>
#include <link.h>
#include <string_view>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace recount::emulate {
namespace {

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

/// Family and model in their fields, with the extended parts (SDM volume 2, CPUID; AMD APM volume 3, E.3).
unsigned signature(const Processor& cpu) {
  constexpr unsigned extended = 15;
  const unsigned base = cpu.family > extended ? extended : cpu.family;
  return cpu.stepping | (cpu.model & 15) << 4 | base << 8 | cpu.model >> 4 << 16 | (cpu.family - base) << 20;
}

Leaf vendor(const Processor& cpu, unsigned most) {
  Leaf leaf{.a = most};
  std::array<char, 12> name{};
  cpu.vendor.copy(name.data(), name.size());
  std::memcpy(&leaf.b, name.data(), 4);
  std::memcpy(&leaf.d, name.data() + 4, 4);
  std::memcpy(&leaf.c, name.data() + 8, 4);
  return leaf;
}

/// Architectural performance monitoring, version 4: all seven events (SDM volume 2, CPUID leaf 0AH).
Leaf performance(const Machine& machine) {
  if (machine.processor.vendor != "GenuineIntel" || machine.pmus.empty()) return {};
  const Pmu& pmu = machine.pmus.front();
  const auto general = static_cast<unsigned>(pmu.general), width = static_cast<unsigned>(pmu.width);
  // The parts of PERF_METRICS are no counters.
  const auto fixed =
      std::ranges::count_if(pmu.fixed, [](const Fixed& one) { return one.codes.front().umask < 0x80; });
  return {4U | general << 8 | width << 16 | 7U << 24, 0, 0, static_cast<unsigned>(fixed) | width << 5};
}

Leaf simulated(unsigned which, unsigned part) {
  const Machine& machine = settings().machine;
  constexpr unsigned most = 0x1f;
  if (which == 0) return vendor(machine.processor, most);
  if (which == 0xa) return performance(machine);
  Leaf leaf;
  __cpuid_count(which, part, leaf.a, leaf.b, leaf.c, leaf.d);
  if (which == 1) leaf.a = signature(machine.processor);
  return leaf;
}

constexpr unsigned char cpuid_code[] = {0x0f, 0xa2}, invalid_code[] = {0x0f, 0x0b};
std::array<const unsigned char*, 64> answered;
std::atomic<std::size_t> answers{0};

bool answer(siginfo_t* /*info*/, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const at = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  for (std::size_t i = 0; i < answers; ++i) {
    if (answered[i] != at) continue;
    const Leaf leaf =
        simulated(static_cast<unsigned>(registers[REG_RAX]), static_cast<unsigned>(registers[REG_RCX]));
    registers[REG_RAX] = leaf.a;
    registers[REG_RBX] = leaf.b;
    registers[REG_RCX] = leaf.c;
    registers[REG_RDX] = leaf.d;
    registers[REG_RIP] += static_cast<greg_t>(sizeof cpuid_code);
    return true;
  }
  return false;
}

void replace(unsigned char* first, std::size_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uint64_t>(first) / page * page;
  const std::size_t length = reinterpret_cast<std::uint64_t>(first) + bytes - start;
  auto* const memory = reinterpret_cast<void*>(start);
  if (real::mprotect(memory, length, PROT_READ | PROT_WRITE) != 0) return;
  for (unsigned char* at = first; at + sizeof cpuid_code <= first + bytes; ++at) {
    if (std::memcmp(at, cpuid_code, sizeof cpuid_code) != 0 || answers == answered.size()) continue;
    std::memcpy(at, invalid_code, sizeof invalid_code);
    answered[answers++] = at;
  }
  real::mprotect(memory, length, PROT_READ | PROT_EXEC);
}

int replace_in(dl_phdr_info* info, std::size_t, void*) {
  if (std::string_view(info->dlpi_name).find("/libpfm.so") == std::string_view::npos) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      replace(reinterpret_cast<unsigned char*>(info->dlpi_addr + part.p_vaddr), part.p_memsz);
  }
  return 0;
}

} // namespace

void answer_cpuid() {
  if (settings().machine.processor.vendor.empty()) return; // read now, not in the handler
  keep_signal(SIGILL, answer);
  dl_iterate_phdr(replace_in, nullptr);
}

// libgcc keeps what CPUID said in __cpu_model: three words, then a word of bits, numbered by
// gcc/common/config/i386/i386-cpuinfo.h; further bits are in __cpu_features2.
void hide_features() {
  constexpr std::pair<const char*, unsigned> bits[] = {
      {"avx", 9}, {"avx2", 10}, {"fma", 14}, {"avx512f", 15}, {"avx512vl", 20}};
  const auto model = program_symbol("__cpu_model"), more = program_symbol("__cpu_features2");
  if (model.at == nullptr) return;
  for (const std::string& feature : settings().machine.hidden) {
    for (const auto& [name, bit] : bits) {
      if (feature != name) continue;
      std::uint32_t word = 0;
      std::memcpy(&word, model.at + 12, sizeof word);
      word &= ~(1U << bit);
      std::memcpy(model.at + 12, &word, sizeof word);
    }
    // AVX512-FP16 is the only one of them that recount asks for.
    if (feature == "avx512_fp16" && more.at != nullptr) std::memset(more.at, 0, more.bytes);
  }
}

} // namespace recount::emulate
