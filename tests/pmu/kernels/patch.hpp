// Takes the place of recount's measured functions in the memory of the process; its file stays as it is.
#pragma once

#include <cstddef>

namespace recount::emulate {

/// At the entry of each measured function of the program: a jump to this library's copy of it, which accounts
/// for what is executed. Does nothing for a program that has none.
void replace_measured_functions();
/// Code of kernel `code` is about to become executable: the same for it.
void replace_written_code(void* at, std::size_t bytes);

} // namespace recount::emulate
