// A program to look at: it allocates a grid, relaxes it and sums up what is left, and says so to recount
// watch.
#include <recount/sections.h>

#include <cstddef>
#include <cstdio>
#include <vector>

struct Grid {
  std::size_t n = 0;
  std::vector<double> now, next;
};

[[gnu::noinline]] static void allocate(Grid& g, std::size_t n) {
  g.n = n;
  g.now = std::vector<double>(n * n, 1.0);
  g.next = std::vector<double>(n * n, 0.0);
}

[[gnu::noinline]] static void relax(Grid& g) {
  for (std::size_t i = 1; i + 1 < g.n; ++i)
    for (std::size_t j = 1; j + 1 < g.n; ++j) {
      const double* const at = &g.now[i * g.n + j];
      g.next[i * g.n + j] = 0.25 * (at[-1] + at[1] + *(at - g.n) + at[g.n]);
    }
  g.now.swap(g.next);
}

[[gnu::noinline]] static double residual(const Grid& g) {
  double sum = 0;
  for (std::size_t i = 0; i < g.n * g.n; ++i)
    sum += (g.now[i] - g.next[i]) * (g.now[i] - g.next[i]);
  return sum;
}
int main() {
  double left = 0;
  for (int round = 0; round < 3; ++round) {
    Grid grid;
    recount_section_begin("allocate");
    allocate(grid, 2500);
    recount_section_end("allocate");
    recount_section_begin("relax");
    for (int step = 0; step < 30; ++step) {
      relax(grid);
      left += residual(grid);
    }
    recount_section_end("relax");
  }
  std::printf("%g\n", left);
}
