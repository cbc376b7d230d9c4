/* Transposes a matrix of doubles, slowly or fast: the example of recount-program(7).
 *
 *     gcc -O2 -g -o transpose transpose.c
 *     ./transpose slow
 */
#include <string.h>

enum { SIZE = 256, PADDING = 8 };
double from[SIZE][SIZE] __attribute__((aligned(4096)));
double to[SIZE][SIZE] __attribute__((aligned(4096)));
double padded[SIZE][SIZE + PADDING] __attribute__((aligned(4096)));

__attribute__((noinline)) static void slow(void) {
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++)
      to[j][i] = from[i][j];
}

/* Rows that are a line longer, so that a column does not lie in a few sets. */
__attribute__((noinline)) static void fast(void) {
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++)
      padded[j][i] = from[i][j];
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  strcmp(argv[1], "slow") == 0 ? slow() : fast();
  return 0;
}
