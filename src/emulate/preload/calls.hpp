// What a library that contains this one adds to it.
#pragma once

#include <cstddef>

namespace recount::emulate {

struct Additions {
  void (*begin)() = nullptr;                                 ///< before main()
  void (*executable)(void* at, std::size_t bytes) = nullptr; ///< code is about to become executable
};
extern Additions additions;

} // namespace recount::emulate
