#include "count/symbol/disassembly.hpp"

#include <capstone/capstone.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <algorithm>

namespace recount::symbol {
namespace {
/// The capstone decoder for an ELF machine.
struct Decoder {
  int elf_machine;
  cs_arch arch;
  int mode;
};
constexpr Decoder decoders[] = {
    {EM_X86_64, CS_ARCH_X86, CS_MODE_64},
    {EM_386, CS_ARCH_X86, CS_MODE_32},
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
    {EM_PPC64, CS_ARCH_PPC, CS_MODE_64},
};

/// Calls `visit` for each instruction until it returns false. Returns whether all of the code was decoded and
/// visited.
template <class Visit>
bool each_instruction(int machine, std::span<const unsigned char> code, std::uint64_t address, bool detail,
                      const Visit& visit) {
  for (const Decoder& decoder : decoders) {
    csh handle = 0;
    if (decoder.elf_machine != machine ||
        cs_open(decoder.arch, static_cast<cs_mode>(decoder.mode), &handle) != CS_ERR_OK)
      continue;
    if (detail) cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    cs_insn* const instruction = cs_malloc(handle);
    const unsigned char* at = code.data();
    std::size_t left = code.size();
    bool going = true;
    while (going && instruction && cs_disasm_iter(handle, &at, &left, &address, instruction))
      going = visit(handle, *instruction);
    if (instruction) cs_free(instruction, 1);
    cs_close(&handle);
    return going && left == 0;
  }
  return false;
}

/// The target of a direct jump; nothing for an indirect one.
std::optional<std::uint64_t> target_of(int machine, const cs_insn& instruction) {
  if (machine == EM_X86_64 || machine == EM_386) {
    const cs_x86& x86 = instruction.detail->x86;
    if (x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM)
      return static_cast<std::uint64_t>(x86.operands[0].imm);
  } else if (machine == EM_AARCH64) {
    const cs_arm64& arm = instruction.detail->arm64;
    if (arm.op_count > 0 && arm.operands[arm.op_count - 1].type == ARM64_OP_IMM)
      return static_cast<std::uint64_t>(arm.operands[arm.op_count - 1].imm);
  }
  return {};
}

bool unconditional(int machine, const cs_insn& instruction) {
  if (machine == EM_AARCH64)
    return instruction.id == ARM64_INS_B && instruction.detail->arm64.cc <= ARM64_CC_INVALID;
  return instruction.id == X86_INS_JMP;
}
} // namespace

std::vector<Instruction> disassemble(int machine, std::span<const unsigned char> code,
                                     std::uint64_t address) {
  std::vector<Instruction> all;
  each_instruction(machine, code, address, false, [&](csh, const cs_insn& instruction) {
    std::string text = instruction.mnemonic;
    if (instruction.op_str[0] != '\0') text += std::string(" ") + instruction.op_str;
    all.push_back({instruction.address, instruction.size, std::move(text)});
    return true;
  });
  return all;
}

std::optional<std::vector<std::uint64_t>> exits(int machine, const std::vector<Code>& parts) {
  if (machine != EM_X86_64 && machine != EM_AARCH64) return {};
  const auto inside = [&](std::uint64_t address) {
    return std::ranges::any_of(parts, [&](const Code& part) {
      return address >= part.address && address - part.address < part.bytes.size();
    });
  };
  std::vector<std::uint64_t> found;
  const auto visit = [&](csh handle, const cs_insn& instruction) {
    if (cs_insn_group(handle, &instruction, CS_GRP_RET)) {
      found.push_back(instruction.address);
    } else if (cs_insn_group(handle, &instruction, CS_GRP_JUMP)) {
      const auto target = target_of(machine, instruction);
      if (!target || (!inside(*target) && !unconditional(machine, instruction))) return false;
      if (!inside(*target)) found.push_back(instruction.address);
    }
    return true;
  };
  for (const Code& part : parts)
    if (!each_instruction(machine, part.bytes, part.address, true, visit)) return {};
  return found;
}

Versions library_versions() {
  int major = 0, minor = 0;
  cs_version(&major, &minor);
  return {{"elfutils", dwfl_version(nullptr)}, {"capstone", fmt::format("{}.{}", major, minor)}};
}

} // namespace recount::symbol
