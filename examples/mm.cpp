// Multiplies two matrices of doubles: the second assignment of recount-program(7).
//
//     g++ -O2 -o mm mm.cpp
//     ./mm line 600
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using Matrix = std::vector<double>;

// Each element of the result in turn: the innermost loop goes down a column of b.
static void simple(const Matrix& a, const Matrix& b, Matrix& c, std::size_t n) {
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t j = 0; j < n; j++) {
      double sum = 0;
      for (std::size_t k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}

// Each element of a with a row of b: the innermost loop goes along rows.
static void line(const Matrix& a, const Matrix& b, Matrix& c, std::size_t n) {
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t k = 0; k < n; k++)
      for (std::size_t j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}

int main(int count, char** arguments) {
  const std::string which = count == 3 ? arguments[1] : "";
  const long n = count == 3 ? std::atol(arguments[2]) : 0;
  if ((which != "simple" && which != "line") || n < 1) {
    std::fprintf(stderr, "usage: mm simple|line N\n");
    return 2;
  }
  const auto elements = static_cast<std::size_t>(n * n);
  const Matrix a(elements, 1), b(elements, 2);
  Matrix c(elements);

  const auto start = std::chrono::steady_clock::now();
  (which == "simple" ? simple : line)(a, b, c, static_cast<std::size_t>(n));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;

  std::printf("%.3f s, %.2f GFLOP/s\n", time.count(),
              2e-9 * static_cast<double>(n) * static_cast<double>(elements) / time.count());
  return c.back() == 2. * static_cast<double>(n) ? 0 : 1;
}
