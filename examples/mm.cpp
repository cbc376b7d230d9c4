// Multiplies two matrices of doubles: the second assignment of recount-program(7), ./mm line 600
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using Matrix = std::vector<double>;

// The innermost loop goes down a column of b.
static void simple(const Matrix& a, const Matrix& b, Matrix& c, std::size_t n) {
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t j = 0; j < n; j++) {
      double sum = 0;
      for (std::size_t k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}

// The innermost loop goes along rows of b and c.
static void line(const Matrix& a, const Matrix& b, Matrix& c, std::size_t n) {
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t k = 0; k < n; k++)
      for (std::size_t j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}

int main(int count, char** arguments) {
  const std::size_t n = count == 3 ? std::strtoul(arguments[2], nullptr, 10) : 0;
  if (n < 1 || (std::strcmp(arguments[1], "simple") != 0 && std::strcmp(arguments[1], "line") != 0)) {
    std::fprintf(stderr, "usage: mm simple|line N\n");
    return 2;
  }
  const Matrix a(n * n, 1), b(n * n, 2);
  Matrix c(n * n);
  const auto start = std::chrono::steady_clock::now();
  (arguments[1][0] == 's' ? simple : line)(a, b, c, n);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  const auto edge = static_cast<double>(n);
  std::printf("%.3f s, %.2f GFLOP/s\n", time.count(), 2e-9 * edge * edge * edge / time.count());
  return c.back() == 2 * edge ? 0 : 1;
}
