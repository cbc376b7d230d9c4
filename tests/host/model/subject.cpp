// A matrix product for another simulator to watch: subject VARIANT N, matrices placed as the model takes them
// to be. With N = 0 all is done but the product.
#include "kernel/matmul/native_matmul.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace recount::kernel::native;

namespace {

constexpr std::size_t alignment = std::size_t{1} << 24, offset = 16; // as long blocks of malloc(3) lie

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::int64_t n = std::strtol(argv[2], nullptr, 10);
  const auto bytes = static_cast<std::size_t>(n * n) * sizeof(double);
  const std::size_t pitch = (bytes + offset + 4095) / 4096 * 4096;
  const std::size_t other = std::size_t{4} << 20; // what is read before, so that no matrix is in a cache
  auto* const memory = static_cast<char*>(
      std::aligned_alloc(alignment, (3 * pitch + alignment) / alignment * alignment + alignment));
  auto* const flush = static_cast<char*>(std::aligned_alloc(alignment, alignment));
  if (memory == nullptr || flush == nullptr) return 1;
  std::memset(memory, 0, 3 * pitch + offset);
  char* const a = memory + offset;
  Matmul context{a, a + pitch, a + 2 * pitch, nullptr, n, 32};
  long sum = 0;
  for (std::size_t i = 0; i < other; i += 16)
    sum += flush[i] = 1;
  const MatmulLoops& loops = plain_matmul(true);
  (std::strcmp(argv[1], "ikj") == 0 ? loops.ikj : loops.ijk)(&context);
  return sum > 0 ? 0 : 1;
}
