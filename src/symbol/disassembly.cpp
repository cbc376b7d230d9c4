#include "symbol/disassembly.hpp"

#include <capstone/capstone.h>
#include <elf.h>

namespace recount::symbol {
namespace {
struct Machine {
  int elf;
  cs_arch arch;
  int mode;
};
constexpr Machine machines[] = {
    {EM_X86_64, CS_ARCH_X86, CS_MODE_64},
    {EM_386, CS_ARCH_X86, CS_MODE_32},
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
    {EM_PPC64, CS_ARCH_PPC, CS_MODE_64},
};
} // namespace

std::vector<Instruction> disassemble(int machine, std::span<const unsigned char> code,
                                     std::uint64_t address) {
  std::vector<Instruction> all;
  for (const Machine& known : machines) {
    csh handle = 0;
    if (known.elf != machine || cs_open(known.arch, static_cast<cs_mode>(known.mode), &handle) != CS_ERR_OK)
      continue;
    cs_insn* const one = cs_malloc(handle);
    const unsigned char* at = code.data();
    std::size_t left = code.size();
    while (one && cs_disasm_iter(handle, &at, &left, &address, one)) {
      std::string text = one->mnemonic;
      if (one->op_str[0] != '\0') text += std::string(" ") + one->op_str;
      all.push_back({one->address, one->size, std::move(text)});
    }
    if (one) cs_free(one, 1);
    cs_close(&handle);
    break;
  }
  return all;
}

} // namespace recount::symbol
