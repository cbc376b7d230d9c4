// Infers the caches of many simulated machines by time: timing-machines [COUNT [FIRST_SEED]] [--why].
#include "timing_tally.hpp"

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::cout << tally_machines(first, count, std::cerr);
}
