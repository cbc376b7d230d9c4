// Runs of a batch as every command shows them: options, a line of progress, how to resume.
#pragma once

#include "run/batch.hpp"
#include "show/command/command.hpp"

namespace recount::command {

/// Declares --cpu, --timeout (`default_timeout`: in seconds), --resume and --quiet.
void declare_runs(Options& parser, sweep::BatchOptions& options, int default_timeout);
/// The same, and --seed, --shard and --jobs.
void declare_sharded_runs(Options& parser, sweep::BatchOptions& options, int default_timeout);

/// Runs what the file does not hold, with a line of progress on stderr (on a terminal written over itself,
/// else one a minute), until SIGINT or SIGTERM; then, and after an error, it prints how to resume. Throws as
/// sweep::run_missing().
[[nodiscard]] sweep::BatchResult run_batch(const sweep::Batch& batch);

/// 0: everything was run; 1: a run failed; 3: nothing was counted, with a note that says so; 128 plus the
/// number of the signal that stopped it.
[[nodiscard]] int exit_status(const sweep::Batch& batch, const sweep::BatchResult& ended);

} // namespace recount::command
