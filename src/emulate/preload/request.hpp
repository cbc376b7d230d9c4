// Requests of the preload library to the Valgrind tool that executes the program.
#pragma once

#include "trace/protocol.h"

namespace recount::emulate {

/// False: no such tool executes this program.
bool request(unsigned kind, long a = 0, long b = 0, long c = 0);

/// Whether the tool reports what this program executes, so that the server counts it.
[[nodiscard]] bool exact();

/// During its life, what the calling thread executes is not the program's.
class Pause {
public:
  Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause();
};

} // namespace recount::emulate
