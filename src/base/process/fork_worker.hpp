// A worker that is a fork of this process.
#pragma once

#include "base/process/child.hpp"

#include <functional>

namespace recount::process {

/// As in_fork(), while it runs: the answer is what the body writes to the descriptor, the words are what it
/// writes to stdout and stderr. Call it before starting threads: only the calling thread exists in the child.
[[nodiscard]] Worker fork_worker(const std::function<int(int fd)>& body);

} // namespace recount::process
