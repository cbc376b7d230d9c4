// --jobs: how many model runs are under way at a time.
#pragma once

namespace recount::sweep {

inline constexpr const char* parallel_help = "model runs at a time (default: the number of usable CPUs)";

/// `asked` 0: one for each CPU that this process may run on.
[[nodiscard]] int parallel_runs(long asked);

} // namespace recount::sweep
