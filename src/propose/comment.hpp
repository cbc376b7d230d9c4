// Comments of the tables that recount propose writes.
#pragma once

#include <string>

namespace recount::propose {

/// Lines of a comment, which PAPI reads in pieces of 2047 bytes at most.
[[nodiscard]] std::string comment(std::string text);

} // namespace recount::propose
