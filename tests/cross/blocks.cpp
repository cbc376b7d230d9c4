// Calls every block of its architecture once with one turn and once with four, and prints what it claims to
// count: for counts.py, which runs it under an emulator and looks at each instruction.
#include "kernel/block.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace recount::kernel;

namespace {

/// Enough for every kind of data; every other byte of it 1, for the branches that the data decide.
alignas(4096) unsigned char data[8192];

void print(const char* name, double value) {
  std::printf(" %s=%g", name, value);
}

void claim(const native::Block& block, std::int64_t turns) {
  const Tally t = block.tally(static_cast<double>(turns));
  std::printf("%.*s %" PRIxPTR, static_cast<int>(block.name.size()), block.name.data(),
              reinterpret_cast<std::uintptr_t>(block.code));
  print("instructions", t.instructions);
  print("loads", t.loads);
  print("stores", t.stores);
  print("transfers", t.transfers);
  print("conditional", t.conditional);
  print("taken", t.taken);
  print("unconditional", t.unconditional);
  print("integer", t.integer);
  print("fp", t.fp);
  print("adds", t.adds);
  print("multiplies", t.multiplies);
  print("fmas", t.fmas);
  print("divides", t.divides);
  print("roots", t.roots);
  print("inversions", t.inversions);
  print("half_ops", t.half_ops);
  print("single_ops", t.single_ops);
  print("double_ops", t.double_ops);
  print("vectors", t.vectors);
  print("half_vectors", t.half_vectors);
  print("single_vectors", t.single_vectors);
  print("double_vectors", t.double_vectors);
  print("fences", t.fences);
  print("prefetches", t.prefetches);
  print("conditional_stores", t.conditional_stores);
  std::printf("\n");
  std::fflush(stdout);
}

} // namespace

int main() {
  for (std::size_t i = 0; i < sizeof data; i += 2)
    data[i] = 1;
  for (const auto& block : native::blocks())
    for (const std::int64_t turns : {1, 4}) {
      claim(block, turns);
      native::Turns context{turns, data, 4095, 64};
      block.code(&context);
    }
}
