// Calls every block of its architecture, and code that it makes itself, once with one turn and once with
// four, and prints what it claims to count: for counts.py, which runs it under an emulator and looks at each
// instruction. The argument is a file that takes the code made.
#include "kernel/blocks/block.hpp"
#include "kernel/blocks/block_kernel.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include <sys/mman.h>

using namespace recount::kernel;

namespace {

/// Enough for every kind of data; every other byte of it 1, or one in eight, for the branches that the data
/// decide.
alignas(4096) unsigned char data[8192];

void print(const char* name, double value) {
  std::printf(" %s=%g", name, value);
}

void claim(std::string_view name, const void* entry, const Tally& t) {
  std::printf("%.*s %" PRIxPTR, static_cast<int>(name.size()), name.data(),
              reinterpret_cast<std::uintptr_t>(entry));
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

constexpr std::size_t area = 1 << 20;
constexpr std::uintptr_t code_base = 0x10000000;

/// Jumps through blocks `stride` bytes apart, in an order of odd steps.
void claim_code(std::byte* code, std::size_t blocks, std::size_t stride, bool full) {
  std::vector<std::uint64_t> places;
  for (std::size_t i = 0; i < blocks; ++i)
    places.push_back(code_line + i * 5 % blocks * stride);
  emit_jumps({code, area}, places, full);
  const EmittedTally tally = emitted(static_cast<double>(blocks), full);
  for (const std::int64_t passes : {1, 4}) {
    claim(full ? "code_full" : "code_empty", code, static_cast<double>(passes) * tally.pass + tally.once);
    std::int64_t argument = passes;
    reinterpret_cast<void (*)(void*)>(code)(&argument);
  }
}

bool claim_codes(const char* file) {
  void* const mapped = mmap(reinterpret_cast<void*>(code_base), 3 * area, PROT_READ | PROT_WRITE | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) return false;
  auto* const code = static_cast<std::byte*>(mapped);
  claim_code(code, 64, 64, false);
  claim_code(code + area, 16, 64, true);
  claim_code(code + 2 * area, 32, 4160, false);
  std::FILE* const out = std::fopen(file, "wb");
  return out != nullptr && std::fwrite(code, 1, 3 * area, out) == 3 * area && std::fclose(out) == 0;
}

} // namespace

int main(int, char** arguments) {
  for (const auto& block : native::blocks())
    for (const std::int64_t turns : {1, 4}) {
      for (std::size_t i = 0; i < sizeof data; ++i) // anew: blocks store to it
        data[i] = i % (block.name == "branch_biased" ? 8 : 2) == 0;
      claim(block.name, reinterpret_cast<const void*>(block.code), block.tally(static_cast<double>(turns)));
      native::BlockArguments context{turns, data, 4095, 64};
      block.code(&context);
    }
  return claim_codes(arguments[1]) ? 0 : 1;
}
