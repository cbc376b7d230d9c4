#include "emulate/instruction_work.hpp"

#include <algorithm>
#include <capstone/capstone.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace recount::emulate {
namespace {

class X86Decoder {
public:
  X86Decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  X86Decoder(const X86Decoder&) = delete;
  X86Decoder& operator=(const X86Decoder&) = delete;
  ~X86Decoder() {
    if (instruction_ != nullptr) cs_free(instruction_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }
  /// Valid until the next call; nullptr: not decoded.
  const cs_insn* decode(std::span<const unsigned char> code) {
    const unsigned char* at = code.data();
    std::size_t left = code.size();
    std::uint64_t address = 0;
    return instruction_ != nullptr && cs_disasm_iter(handle_, &at, &left, &address, instruction_)
               ? instruction_
               : nullptr;
  }

private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

/// "vfmadd231sd" is an fma of f64, scalar: names of Intel's manual, volume 2.
struct VectorName {
  const char* prefix;
  const char* operation;
};
constexpr VectorName vector_names[] = {
    {"fmadd", "fma"}, {"fmsub", "fma"},    {"fnmadd", "fma"}, {"fnmsub", "fma"}, {"add", "add"},
    {"sub", "add"},   {"mul", "multiply"}, {"div", "divide"}, {"sqrt", "root"},  {"rcp", "invert"}};

std::optional<std::size_t> floating_point(const cs_insn& one) {
  std::string_view name = one.mnemonic;
  if (name.starts_with('v')) name.remove_prefix(1);
  constexpr std::pair<const char*, const char*> elements[] = {{"d", "f64"}, {"s", "f32"}, {"h", "f16"}};
  if (name.size() < 4) return {};
  const char packing = name[name.size() - 2];
  const auto element =
      std::ranges::find(elements, name.substr(name.size() - 1), &std::pair<const char*, const char*>::first);
  if (element == std::end(elements) || (packing != 's' && packing != 'p')) return {};
  const auto known = std::ranges::find_if(
      vector_names, [&](const VectorName& one_name) { return name.starts_with(one_name.prefix); });
  if (known == std::end(vector_names)) return {};
  std::size_t bytes = 16;
  for (int i = 0; i < one.detail->x86.op_count; ++i)
    bytes = std::max<std::size_t>(bytes, one.detail->x86.operands[i].size);
  const char* const width = packing == 's' ? "scalar" : bytes == 16 ? "128" : bytes == 32 ? "256" : "512";
  return fp_quantity(known->operation, element->second, width);
}

std::optional<Quantity> integer(unsigned id) {
  switch (id) {
  case X86_INS_IMUL:
  case X86_INS_MUL:
  case X86_INS_MULX: return Quantity::integer_multiplies;
  case X86_INS_DIV:
  case X86_INS_IDIV: return Quantity::integer_divides;
  case X86_INS_ADD:
  case X86_INS_XADD:
  case X86_INS_SUB:
  case X86_INS_ADC:
  case X86_INS_SBB:
  case X86_INS_INC:
  case X86_INS_DEC:
  case X86_INS_NEG:
  case X86_INS_CMP:
  case X86_INS_TEST:
  case X86_INS_AND:
  case X86_INS_OR:
  case X86_INS_XOR:
  case X86_INS_NOT:
  case X86_INS_SHL:
  case X86_INS_SHR:
  case X86_INS_SAR:
  case X86_INS_ROL:
  case X86_INS_ROR:
  case X86_INS_LEA: return Quantity::integer;
  default: return {};
  }
}

std::optional<Quantity> special(unsigned id) {
  switch (id) {
  case X86_INS_SYSCALL: return Quantity::system_calls;
  case X86_INS_MFENCE:
  case X86_INS_LFENCE:
  case X86_INS_SFENCE: return Quantity::fences;
  case X86_INS_CLFLUSH:
  case X86_INS_CLFLUSHOPT:
  case X86_INS_CLWB: return Quantity::flushes;
  case X86_INS_PREFETCHT0:
  case X86_INS_PREFETCHT1:
  case X86_INS_PREFETCHT2:
  case X86_INS_PREFETCHNTA:
  case X86_INS_PREFETCHW: return Quantity::prefetches;
  default: return {};
  }
}

/// Jumps, calls and returns; conditional branches are among them in the decoder's group of jumps.
std::optional<Quantity> flow(const cs_insn& one, bool& indirect) {
  const auto in_group = [&](unsigned group) {
    const auto* const groups = one.detail->groups;
    return std::find(groups, groups + one.detail->groups_count, group) != groups + one.detail->groups_count;
  };
  const bool computed = one.detail->x86.op_count == 1 && one.detail->x86.operands[0].type != X86_OP_IMM;
  if (in_group(CS_GRP_RET)) return Quantity::returns;
  if (in_group(CS_GRP_CALL)) {
    indirect = computed;
    return Quantity::calls;
  }
  if (!in_group(CS_GRP_JUMP)) return {};
  if (one.id != X86_INS_JMP) return Quantity::conditional;
  indirect = computed;
  return computed ? Quantity::indirect : Quantity::jumps;
}

InstructionWork work_of(const cs_insn& one) {
  InstructionWork work;
  const auto take = [&work](std::optional<Quantity> which) {
    if (which) work.quantities.push_back(static_cast<std::uint8_t>(*which));
  };
  take(integer(one.id));
  if (const auto which = integer(one.id); which && *which != Quantity::integer) take(Quantity::integer);
  take(special(one.id));
  take(flow(one, work.indirect));
  const cs_x86& x86 = one.detail->x86;
  const bool swaps = one.id == X86_INS_XCHG && x86.op_count == 2 &&
                     (x86.operands[0].type == X86_OP_MEM || x86.operands[1].type == X86_OP_MEM);
  if (x86.prefix[0] == X86_PREFIX_LOCK || swaps) take(Quantity::atomics);
  if (const auto which = floating_point(one)) work.quantities.push_back(static_cast<std::uint8_t>(*which));
  return work;
}

} // namespace

std::vector<InstructionWork> decode_work(std::span<const unsigned char> code,
                                         std::span<const std::uint8_t> lengths) {
  thread_local X86Decoder decoder;
  std::vector<InstructionWork> all;
  std::size_t at = 0;
  for (const std::uint8_t length : lengths) {
    if (length > code.size() - at) break;
    const cs_insn* const one = decoder.decode(code.subspan(at, length));
    all.push_back(one != nullptr ? work_of(*one) : InstructionWork{});
    at += length;
  }
  all.resize(lengths.size());
  return all;
}

} // namespace recount::emulate
