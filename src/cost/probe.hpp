// How an operation is measured: a probe is read before and after, many times over.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace recount::cost {

/// Something that grows while code runs: nanoseconds, or instructions.
struct Probe {
  std::uint64_t (*read)(void* context);
  void* context;
  std::uint64_t operator()() const { return read(context); }
};

/// An operation that can be measured: what one of `batch` executions adds to the probe, the probe's own cost
/// included.
struct Step {
  std::string operation;
  std::function<double(const Probe& probe, int batch)> measure;
};

/// The compiler may neither leave the operation out nor mix it with the next.
inline void keep_order() {
  asm volatile("" ::: "memory");
}

/// Executes a different number of instructions each time, so that the steps of a coarse clock average out.
inline void dither(int i) {
  for (int k = i % 16; k > 0; --k)
    asm volatile("");
}

/// An operation that can be repeated as it stands, between two readings. `begin` and `end` are not measured.
template <class Begin, class Operation, class End>
Step repeated(std::string name, Begin begin, Operation operation, End end) {
  return {std::move(name), [=](const Probe& probe, int batch) {
            begin();
            const std::uint64_t from = probe();
            for (int i = 0; i < batch; ++i) {
              operation();
              keep_order();
            }
            const std::uint64_t to = probe();
            end();
            return static_cast<double>(to - from) / batch;
          }};
}

/// An operation that has to be undone before it can be repeated: two readings around each.
template <class Before, class Operation, class After>
Step single(std::string name, Before before, Operation operation, After after) {
  return {std::move(name), [=](const Probe& probe, int batch) {
            std::uint64_t sum = 0;
            for (int i = 0; i < batch; ++i) {
              before();
              dither(i);
              const std::uint64_t from = probe();
              operation();
              sum += probe() - from;
              after();
            }
            return static_cast<double>(sum) / batch;
          }};
}

/// CLOCK_MONOTONIC_RAW in nanoseconds.
[[nodiscard]] Probe clock_probe() noexcept;

/// Nanoseconds per instruction, where different kinds of code take the same time per instruction: an
/// emulator then advances the clock by the instructions executed. None on real machines, and where this
/// architecture is not known.
[[nodiscard]] std::optional<double> clock_counts_instructions();

} // namespace recount::cost
