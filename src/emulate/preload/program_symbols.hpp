// Symbols of the program that is running, from the symbol table of its file.
#pragma once

#include <cstddef>
#include <string>

namespace recount::emulate {

struct Symbol {
  unsigned char* at = nullptr; ///< where it is in memory; nullptr: there is none
  std::size_t bytes = 0;
};
[[nodiscard]] Symbol program_symbol(const std::string& name);

} // namespace recount::emulate
