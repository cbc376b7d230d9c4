#include "kernel/blocks/emit.hpp"

#include <cstring>

namespace recount::kernel {

namespace {

/// Bytes that grow from `at` on.
struct Emitter {
  std::byte* at;
  template <class... Byte>
  void bytes(Byte... value) {
    ((*at++ = static_cast<std::byte>(value)), ...);
  }
  void word(std::uint32_t value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }
};

#if defined(__x86_64__)

constexpr int emitted_jump_bytes = 5, emitted_nop_bytes = 1;

void emit_jump(Emitter& code, const std::byte* target) {
  code.bytes(0xe9);
  code.word(static_cast<std::uint32_t>(target - (code.at + 4)));
}
void emit_nop(Emitter& code) {
  code.bytes(0x90);
}
/// Loads the number of passes and goes to the first block; the tail comes back here from the last one.
const std::byte* emit_frame(Emitter& code, const std::byte* first) {
  code.bytes(0x48, 0x8b, 0x0f); // mov (%rdi), %rcx
  emit_jump(code, first);
  const std::byte* const tail = code.at;
  code.bytes(0x48, 0xff, 0xc9); // dec %rcx
  code.bytes(0x0f, 0x85);       // jnz first
  code.word(static_cast<std::uint32_t>(first - (code.at + 4)));
  code.bytes(0xc3); // ret
  return tail;
}
const Tally tail_tally = tallies::integer + tallies::taken;
const Tally once_tally =
    tallies::load + tallies::jump + tallies::both(tallies::jump, tallies::load) + Tally{.taken = -1};

#elif defined(__aarch64__)

constexpr int emitted_jump_bytes = 4, emitted_nop_bytes = 4;

void emit_jump(Emitter& code, const std::byte* target) {
  code.word(0x14000000U | (static_cast<std::uint32_t>((target - code.at) / 4) & 0x3ffffffU)); // b target
}
void emit_nop(Emitter& code) {
  code.word(0xd503201fU);
}
const std::byte* emit_frame(Emitter& code, const std::byte* first) {
  code.word(0xf9400001U); // ldr x1, [x0]
  emit_jump(code, first);
  const std::byte* const tail = code.at;
  code.word(0xf1000421U); // subs x1, x1, #1
  code.word(0x54000040U); // b.eq past the jump: it reaches one megabyte only, a plain jump 128
  emit_jump(code, first);
  code.word(0xd65f03c0U); // ret
  return tail;
}
const Tally tail_tally = tallies::integer + tallies::branch + tallies::jump;
const Tally once_tally = tallies::load + tallies::jump + Tally{.taken = 1};

#else

constexpr int emitted_jump_bytes = 4, emitted_nop_bytes = 4;
void emit_jump(Emitter&, const std::byte*) {}
void emit_nop(Emitter&) {}
const std::byte* emit_frame(Emitter&, const std::byte*) {
  return nullptr;
}
const Tally tail_tally, once_tally;

#endif

constexpr int full_nops = (code_line - emitted_jump_bytes) / emitted_nop_bytes;

} // namespace

bool can_emit() {
#if defined(__x86_64__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

void emit_jumps(std::span<std::byte> code, std::span<const std::uint64_t> places, bool full) {
  Emitter start{code.data()};
  const std::byte* const tail = emit_frame(start, code.data() + places.front());
  for (std::size_t i = 0; i < places.size(); ++i) {
    Emitter block{code.data() + places[i]};
    for (int n = 0; full && n < full_nops; ++n)
      emit_nop(block);
    emit_jump(block, i + 1 < places.size() ? code.data() + places[i + 1] : tail);
  }
  __builtin___clear_cache(reinterpret_cast<char*>(code.data()),
                          reinterpret_cast<char*>(code.data() + code.size()));
}

EmittedTally emitted(double blocks, bool full) {
  const Tally block = (full ? full_nops : 0) * tallies::plain + tallies::jump;
  return {blocks * block + tail_tally, once_tally};
}

} // namespace recount::kernel
