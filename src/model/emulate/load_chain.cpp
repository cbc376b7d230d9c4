#include "model/emulate/load_chain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

namespace recount::emulate {
namespace {

/// Parts of a general register.
constexpr std::uint16_t parts[][5] = {{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
                                      {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
                                      {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
                                      {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
                                      {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
                                      {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
                                      {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
                                      {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
                                      {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
                                      {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
                                      {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
                                      {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
                                      {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
                                      {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
                                      {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B}};
constexpr std::size_t registers = std::size(parts);

std::uint16_t bit_of(unsigned name) {
  if (name == X86_REG_INVALID) return 0;
  for (std::size_t i = 0; i < registers; ++i)
    if (std::ranges::find(parts[i], name) != std::end(parts[i])) return static_cast<std::uint16_t>(1U << i);
  return 0;
}

std::uint16_t bits_of(const cs_regs& names, std::uint8_t count) {
  std::uint16_t bits = 0;
  for (std::uint8_t i = 0; i < count; ++i)
    bits = static_cast<std::uint16_t>(bits | bit_of(names[i]));
  return bits;
}

using Depths = std::array<unsigned, registers>; ///< loads of the longest chain that each register ends

unsigned deepest(const Depths& depths, std::uint16_t of) {
  unsigned most = 0;
  for (; of != 0; of &= static_cast<std::uint16_t>(of - 1))
    most = std::max(most, depths[static_cast<std::size_t>(std::countr_zero(of))]);
  return most;
}

void put(Depths& depths, std::uint16_t into, unsigned depth) {
  for (; into != 0; into &= static_cast<std::uint16_t>(into - 1))
    depths[static_cast<std::size_t>(std::countr_zero(into))] = depth;
}

} // namespace

RegisterFlow register_flow(csh decoder, const cs_insn& one) {
  RegisterFlow flow;
  cs_regs read, written;
  std::uint8_t reads = 0, writes = 0;
  if (cs_regs_access(decoder, &one, read, &reads, written, &writes) != CS_ERR_OK) return flow;
  flow.read = bits_of(read, reads);
  flow.written = bits_of(written, writes);
  const cs_x86& x86 = one.detail->x86;
  const std::span operands(x86.operands, x86.op_count);
  const bool clears = (one.id == X86_INS_XOR || one.id == X86_INS_SUB) && x86.op_count == 2 &&
                      operands[0].type == X86_OP_REG && operands[1].type == X86_OP_REG &&
                      operands[0].reg == operands[1].reg;
  if (clears) flow.read = 0;
  if (one.id == X86_INS_LEA) return flow;
  for (const cs_x86_op& operand : operands)
    if (operand.type == X86_OP_MEM && (operand.access & CS_AC_READ) != 0)
      flow.address =
          static_cast<std::uint16_t>(flow.address | bit_of(operand.mem.base) | bit_of(operand.mem.index));
  if (flow.address != 0 && operands[0].type == X86_OP_REG && (operands[0].access & CS_AC_WRITE) != 0)
    flow.loaded = bit_of(operands[0].reg);
  return flow;
}

std::vector<std::size_t> chained_loads(std::span<const RegisterFlow> block) {
  constexpr int executions = 4; // in the last of which chains that end have ended
  std::vector<std::size_t> chained;
  Depths depths{};
  unsigned longest = 0;
  for (int execution = 1; execution <= executions; ++execution)
    for (std::size_t i = 0; i < block.size(); ++i) {
      const RegisterFlow& one = block[i];
      const unsigned plain = deepest(depths, one.read);
      const unsigned loaded = one.address != 0 ? deepest(depths, one.address) + 1 : 0;
      if (loaded > longest && execution == executions) chained.push_back(i);
      longest = std::max(longest, loaded);
      put(depths, one.written, plain);
      put(depths, one.loaded, std::max(plain, loaded));
    }
  return chained;
}

} // namespace recount::emulate
