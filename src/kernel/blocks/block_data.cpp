#include "kernel/blocks/block_kernel.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace recount::kernel {

namespace {

constexpr std::int64_t line_room = 256;

template <class T>
void put_ones(std::span<std::byte> memory, int at, T one) {
  for (std::size_t i = 0; i < 64; i += sizeof one)
    std::memcpy(memory.data() + at + i, &one, sizeof one);
}

/// Every other byte 1; then shuffled (Fisher and Yates), from a seed of its own.
void toss(std::span<std::byte> memory, bool random) {
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = std::byte(i % 2);
  if (!random) return;
  std::uint64_t state = 1;
  for (std::size_t i = memory.size(); i > 1; --i)
    std::swap(memory[i - 1], memory[static_cast<std::size_t>(base::random_below(state, i))]);
}

} // namespace

std::int64_t data_bytes(Data data, std::int64_t turns) {
  switch (data) {
  case Data::line: return line_room;
  case Data::ones: return native::ones_bytes;
  case Data::coins: return turns * native::steps_a_turn;
  }
  return 0;
}

void lay_out(Data data, bool random, std::span<std::byte> memory) {
  if (data == Data::coins) return toss(memory, random);
  if (data != Data::ones) return;
  put_ones(memory, native::ones_f64, 1.0);
  put_ones(memory, native::ones_f32, 1.0F);
  put_ones(memory, native::ones_f16, std::uint16_t{0x3c00});
}

std::vector<Expectation> predicted(const Tally& tally, bool random, double steps) {
  // A predictor with enough capacity for all random branches predicts them in the next pass.
  constexpr double memorable = 1 << 17, stray = 64;
  const double all = tally.conditional;
  double missed = 0, below = 0, above = stray + all / 500;
  std::string form = "only those of the first turns and the last one";
  if (random) {
    missed = steps / 2;
    below = steps < memorable ? missed : steps / 8;
    above += steps / 32;
    form = "half of the random branches: unpredictable";
  }
  return {{"PAPI_BR_MSP", missed, below, above, form},
          {"PAPI_BR_PRC", all - missed, above, below, "the conditional branches minus " + form}};
}

} // namespace recount::kernel
