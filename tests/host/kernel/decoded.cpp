#include "decoded.hpp"

#if defined(__x86_64__) && defined(HAVE_ZYDIS)

#include <Zydis/Zydis.h>

#include <regex>
#include <span>
#include <stdexcept>
#include <string>

using recount::kernel::Tally;

namespace {

using Operands = std::span<const ZydisDecodedOperand>;

void add_memory(Tally& tally, const ZydisDecodedInstruction& instruction, Operands operands) {
  // These name an address without reading or writing what is there.
  if (instruction.meta.category == ZYDIS_CATEGORY_PREFETCH || instruction.mnemonic == ZYDIS_MNEMONIC_LEA ||
      instruction.mnemonic == ZYDIS_MNEMONIC_NOP || instruction.mnemonic == ZYDIS_MNEMONIC_CLFLUSH)
    return;
  bool reads = false, writes = false;
  for (const auto& operand : operands) { // hidden ones, such as a return address, included
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    reads = reads || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    writes = writes || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  }
  tally.loads = reads ? 1 : 0;
  tally.stores = writes ? 1 : 0;
  tally.transfers = reads || writes ? 1 : 0;
}

/// `v?OP[sp][sdh]`: packed or scalar, single, double or half.
void add_floating(Tally& tally, const std::string& name, Operands operands) {
  static const std::regex form(
      "v?(add|sub|mul|div|sqrt|rcp(?:14)?|fn?m(?:add|sub)(?:132|213|231))([sp])([sdh])");
  std::smatch match;
  if (!std::regex_match(name, match, form)) return;
  const std::string op = match[1];
  const char element = match[3].str()[0];
  const bool packed = match[2] == "p";
  const int bits = element == 'h' ? 16 : element == 's' ? 32 : 64;
  const int lanes = packed ? operands[0].size / bits : 1;
  const bool fused = op[0] == 'f';
  tally.fp = 1;
  (fused                        ? tally.fmas
   : op == "add" || op == "sub" ? tally.adds
   : op == "mul"                ? tally.multiplies
   : op == "div"                ? tally.divides
   : op == "sqrt"               ? tally.roots
                                : tally.inversions) = 1;
  (element == 'h'   ? tally.half_ops
   : element == 's' ? tally.single_ops
                    : tally.double_ops) = fused ? 2 * lanes : lanes;
  tally.vectors = packed ? 1 : 0;
  (element == 'h'   ? tally.half_vectors
   : element == 's' ? tally.single_vectors
                    : tally.double_vectors) = tally.vectors;
}

bool is_integer(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_DEC:
  case ZYDIS_MNEMONIC_INC:
  case ZYDIS_MNEMONIC_CMP:
  case ZYDIS_MNEMONIC_TEST:
  case ZYDIS_MNEMONIC_AND:
  case ZYDIS_MNEMONIC_XOR:
  case ZYDIS_MNEMONIC_IMUL:
  case ZYDIS_MNEMONIC_DIV:
  case ZYDIS_MNEMONIC_XADD: return true;
  default: return false;
  }
}

} // namespace

Decoded decode(const unsigned char* code) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (ZYAN_FAILED(
          ZydisDecoderDecodeFull(&decoder, code, ZYDIS_MAX_INSTRUCTION_LENGTH, &instruction, operands)))
    throw std::runtime_error("what was executed is no instruction that Zydis knows");
  const Operands all(operands, instruction.operand_count);
  const std::string name = ZydisMnemonicGetString(instruction.mnemonic);

  Decoded decoded;
  Tally& tally = decoded.tally;
  tally.instructions = 1;
  add_memory(tally, instruction, all);
  add_floating(tally, name, all);
  tally.integer = is_integer(instruction.mnemonic) ? 1 : 0;
  tally.prefetches = instruction.meta.category == ZYDIS_CATEGORY_PREFETCH ? 1 : 0;
  const bool locked = (instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  tally.fences = locked || name.ends_with("fence") ? 1 : 0;
  switch (instruction.meta.category) {
  case ZYDIS_CATEGORY_COND_BR:
    tally.conditional = 1;
    decoded.condition = instruction.opcode & 0xf;
    break;
  case ZYDIS_CATEGORY_UNCOND_BR:
  case ZYDIS_CATEGORY_CALL:
  case ZYDIS_CATEGORY_RET: tally.unconditional = 1; break;
  default: break;
  }
  return decoded;
}

bool holds(int condition, unsigned long flags) {
  const bool carry = (flags & 1) != 0, parity = (flags & 4) != 0, zero = (flags & 0x40) != 0;
  const bool sign = (flags & 0x80) != 0, overflow = (flags & 0x800) != 0;
  const bool of_even[] = {
      overflow, carry, zero, carry || zero, sign, parity, sign != overflow, zero || sign != overflow};
  return of_even[condition >> 1] != ((condition & 1) != 0);
}

#endif
