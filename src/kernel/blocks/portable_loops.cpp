// Blocks in C++, for architectures that no assembly is written for. The instructions per turn are
// read from the disassembly of this file (portable_counts.py), so each function is one loop without
// branches inside.
#include "kernel/blocks/block.hpp"

#include <cstring>
#include <type_traits>

namespace recount::kernel::native {

namespace {

const Turns& turns_of(const void* context) {
  return *static_cast<const Turns*>(context);
}

/// Sixteen steps per turn. The compiler must not predict `step`: it hides its values in empty
/// assembly.
template <class Step>
[[gnu::always_inline]] inline void turn_round(std::int64_t turns, Step step) {
  do {
    step(), step(), step(), step(), step(), step(), step(), step();
    step(), step(), step(), step(), step(), step(), step(), step();
  } while (--turns > 0);
}

template <class T>
[[gnu::always_inline]] inline void hide(T& value) {
  if constexpr (std::is_floating_point_v<T>)
#if defined(__riscv)
    asm volatile("" : "+f"(value));
#elif defined(__x86_64__)
    asm volatile("" : "+x"(value));
#elif defined(__aarch64__)
    asm volatile("" : "+w"(value));
#else
    asm volatile("" : "+m"(value));
#endif
  else
    asm volatile("" : "+r"(value));
}

/// A chain of one operation on a number that begins as 1.
template <class T, class Operation>
[[gnu::always_inline]] inline void chain(const void* context, int at, Operation operation) {
  const Turns& turns = turns_of(context);
  T one, value;
  std::memcpy(&one, static_cast<const char*>(turns.data) + at, sizeof one);
  value = one;
  turn_round(turns.turns, [&] {
    value = operation(value, one);
    hide(value);
  });
}

} // namespace

extern "C" void recount_kernel_integer_add(void* context) {
  std::int64_t value = 0;
  turn_round(turns_of(context).turns, [&] {
    value += 1;
    hide(value);
  });
}
extern "C" void recount_kernel_integer_multiply(void* context) {
  std::uint64_t value = 3;
  turn_round(turns_of(context).turns, [&] {
    value *= value;
    hide(value);
  });
}
extern "C" void recount_kernel_transfer_load(void* context) {
  const auto* const cell = static_cast<const volatile std::int64_t*>(turns_of(context).data);
  turn_round(turns_of(context).turns, [&] { static_cast<void>(*cell); });
}
extern "C" void recount_kernel_transfer_store(void* context) {
  auto* const cell = static_cast<volatile std::int64_t*>(turns_of(context).data);
  turn_round(turns_of(context).turns, [&] { *cell = 0; });
}
extern "C" void recount_kernel_transfer_copy(void* context) {
  auto* const cell = static_cast<volatile std::int64_t*>(turns_of(context).data);
  turn_round(turns_of(context).turns, [&] { cell[1] = cell[0]; });
}
extern "C" void recount_kernel_sync_fence(void* context) {
  turn_round(turns_of(context).turns, [] { __atomic_thread_fence(__ATOMIC_SEQ_CST); });
}
/// Calls `touch` with each place in the order of the generator that scatter.cpp replays.
template <class Touch>
[[gnu::always_inline]] inline void scatter(const void* context, Touch touch) {
  const Turns& turns = turns_of(context);
  char* const data = static_cast<char*>(turns.data);
  const std::int64_t mask = turns.mask, hop = turns.hop;
  std::int64_t offset = 0;
  turn_round(turns.turns, [&] {
    offset = (offset * 1103515245 + hop) & mask;
    touch(reinterpret_cast<volatile std::int64_t*>(data + offset));
  });
}

extern "C" void recount_kernel_scatter_load(void* context) {
  scatter(context, [](const volatile std::int64_t* cell) { static_cast<void>(*cell); });
}
extern "C" void recount_kernel_scatter_store(void* context) {
  scatter(context, [](volatile std::int64_t* cell) { *cell = 0; });
}

#define RECOUNT_FLOATS(element, type)                                                                        \
  extern "C" void recount_kernel_float_add_##element##_scalar(void* context) {                               \
    chain<type>(context, ones_##element, [](type x, type y) { return x + y; });                              \
  }                                                                                                          \
  extern "C" void recount_kernel_float_multiply_##element##_scalar(void* context) {                          \
    chain<type>(context, ones_##element, [](type x, type y) { return x * y; });                              \
  }                                                                                                          \
  extern "C" void recount_kernel_float_divide_##element##_scalar(void* context) {                            \
    chain<type>(context, ones_##element, [](type x, type y) { return x / y; });                              \
  }
RECOUNT_FLOATS(f64, double)
RECOUNT_FLOATS(f32, float)
#undef RECOUNT_FLOATS

} // namespace recount::kernel::native
