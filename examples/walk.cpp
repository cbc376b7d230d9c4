// Walks over an array with a stride: the first assignment of recount-program(7), ./walk 65536 64
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** arguments) {
  const long size = count == 3 ? std::atol(arguments[1]) : 0;
  const long stride = count == 3 ? std::atol(arguments[2]) : 0;
  if (stride < 1 || size < stride) {
    std::fprintf(stderr, "usage: walk SIZE STRIDE, in bytes\n");
    return 2;
  }
  constexpr long accesses = 10'000'000; // of each run, so that runs compare: 0.01 s is 1 ns per access
  std::vector<char> x(static_cast<std::size_t>(size));
  volatile char* const first = x.data(); // volatile: each access is made

  const auto start = std::chrono::steady_clock::now();
  for (long access = 0, i = 0; access < accesses; access++) {
    first[i] = static_cast<char>(first[i] + 1);
    i = i + stride < size ? i + stride : 0;
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  std::printf("%.3f ns per access\n", time.count() / accesses);
}
