// A matrix product of doubles, as a program that knows nothing of recount: `product N`.
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int, char** argv) {
  const std::size_t n = std::strtoul(argv[1], nullptr, 10);
  std::vector<double> a(n * n, 3), b(n * n, 2), c(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
  std::printf("%g\n", c[n * n - 1]);
}
