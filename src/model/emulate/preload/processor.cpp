#include "model/emulate/preload/processor.hpp"

#include "model/emulate/cpuid.hpp"
#include "model/emulate/preload/account.hpp"
#include "model/emulate/real.hpp"
#include "model/emulate/settings.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cpuid.h>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

extern "C" void recount_emulate_return_from_signal();
asm(".text\n"
    ".hidden recount_emulate_return_from_signal\n"
    ".globl recount_emulate_return_from_signal\n"
    ".type recount_emulate_return_from_signal, @function\n"
    "recount_emulate_return_from_signal: movq $15, %rax\n" // SYS_rt_sigreturn
    "syscall\n");

namespace recount::emulate {
namespace {

constexpr int max_signals = 64;
struct Kept {
  Answer answer = nullptr;
  struct sigaction programs {}; ///< as the program has requested
};
Kept kept[max_signals];

using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
Sigaction real_sigaction() {
  static const auto function = reinterpret_cast<Sigaction>(dlsym(RTLD_NEXT, "sigaction"));
  return function;
}

/// Whether it is answered. Not even the access to errno is counted.
bool answered(const Kept& one, siginfo_t* info, void* context) {
  const Pause pause;
  const int error = errno;
  const bool done = one.answer(info, context);
  errno = error;
  return done;
}

void dispatch(int number, siginfo_t* info, void* context) {
  const Kept& one = kept[number];
  if (answered(one, info, context)) return;
  const int error = errno;
  if ((one.programs.sa_flags & SA_SIGINFO) != 0)
    one.programs.sa_sigaction(number, info, context);
  else if (one.programs.sa_handler != SIG_DFL && one.programs.sa_handler != SIG_IGN)
    one.programs.sa_handler(number);
  else
    real_sigaction()(number, &one.programs, nullptr); // it happens again, and ends the program
  errno = error;
}

} // namespace

// With a way back of the library's own: what it executes is not the program's.
void keep_signal(int number, Answer answer) {
  constexpr unsigned long own_restorer = 0x04000000; // SA_RESTORER of asm/signal.h
  struct {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
  } action{dispatch, SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER | own_restorer,
           recount_emulate_return_from_signal, 0};
  kept[number].answer = answer;
  real_sigaction()(number, nullptr, &kept[number].programs);
  real::syscall(SYS_rt_sigaction, number, reinterpret_cast<long>(&action), 0, sizeof action.mask);
}

bool kept_action(int number, const struct sigaction* now, struct sigaction* before) {
  if (number <= 0 || number >= max_signals || kept[number].answer == nullptr) return false;
  if (before != nullptr) *before = kept[number].programs;
  if (now != nullptr) kept[number].programs = *now;
  return true;
}

namespace {

/// Where the program has been loaded: the first object that the dynamic linker tells of.
ElfW(Addr) load_address() {
  ElfW(Addr) address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<ElfW(Addr)*>(to) = info->dlpi_addr;
        return 1;
      },
      &address);
  return address;
}

struct Image {
  const unsigned char* at = nullptr;
  std::size_t bytes = 0;
  template <class T>
  [[nodiscard]] const T* part(std::size_t offset, std::size_t count) const {
    if (offset > bytes || count > (bytes - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(at + offset);
  }
};

void read_symbols(const Image& image, std::map<std::string, Symbol>& into) {
  const auto* const header = image.part<ElfW(Ehdr)>(0, 1);
  if (header == nullptr) return;
  const auto* const sections = image.part<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return;
  const ElfW(Addr) base = load_address();
  for (std::size_t s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto count = sections[s].sh_size / sizeof(ElfW(Sym));
    const auto* const symbols = image.part<ElfW(Sym)>(sections[s].sh_offset, count);
    const auto& strings = sections[sections[s].sh_link];
    const auto* const names = image.part<char>(strings.sh_offset, strings.sh_size);
    if (symbols == nullptr || names == nullptr) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = names + symbols[i].st_name;
      if (name.starts_with("recount_kernel_") || name.starts_with("__cpu_"))
        into[name] = {reinterpret_cast<unsigned char*>(base + symbols[i].st_value), symbols[i].st_size};
    }
  }
}

std::map<std::string, Symbol> read_program() {
  std::map<std::string, Symbol> all;
  const auto fd = static_cast<int>(
      real::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return all;
  struct stat status {};
  if (fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const at = real::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
      read_symbols({static_cast<const unsigned char*>(at), bytes}, all);
      real::munmap(at, bytes);
    }
  }
  real::close(fd);
  return all;
}

} // namespace

Symbol program_symbol(const std::string& name) {
  static const auto all = read_program();
  const auto found = all.find(name);
  return found == all.end() ? Symbol{} : found->second;
}

namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

const std::vector<CpuidLeaf>& leaves() {
  static const auto all = cpuid_leaves(settings().machine);
  return all;
}

Registers simulated(unsigned leaf, unsigned part) {
  Registers answer;
  __cpuid_count(leaf, part, answer.a, answer.b, answer.c, answer.d);
  unsigned* const registers[] = {&answer.a, &answer.b, &answer.c, &answer.d};
  const auto found = std::ranges::find_if(
      leaves(), [&](const CpuidLeaf& one) { return one.leaf == leaf && one.part.value_or(part) == part; });
  if (found == leaves().end()) return answer;
  for (std::size_t i = 0; i < found->values.size(); ++i)
    *registers[i] = found->values[i].value_or(*registers[i]);
  return answer;
}

constexpr unsigned char cpuid_code[] = {0x0f, 0xa2}, invalid_code[] = {0x0f, 0x0b};
std::array<const unsigned char*, 64> replaced;
std::atomic<std::size_t> replacements{0};

bool answer(siginfo_t* /*info*/, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const at = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  for (std::size_t i = 0; i < replacements; ++i) {
    if (replaced[i] != at) continue;
    const Registers leaf =
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
    if (std::memcmp(at, cpuid_code, sizeof cpuid_code) != 0 || replacements == replaced.size()) continue;
    std::memcpy(at, invalid_code, sizeof invalid_code);
    replaced[replacements++] = at;
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
  if (leaves().empty() || settings().exact) return; // read now, not in the handler; the tool answers
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
