// The products that a matrix study runs, and its ceilings.
#pragma once

#include "model/machine.hpp"
#include "result/observation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::matmul {

/// The requested study.
struct MatmulChoice {
  std::vector<std::string> studies;         ///< "lab", "report"
  bool quick = false;                       ///< the sizes that take minutes, not hours
  std::vector<std::int64_t> sizes, blocks;  ///< in place of the study's own (report); empty: its own
  std::vector<std::string> commands;        ///< external ones: "LANGUAGE=COMMAND" or "COMMAND"
  std::int64_t line = 64;                   ///< bytes of a line, for the blocks of the laboratory
  std::vector<result::Params> of_published; ///< points of a published table, to be run as well
};

/// One point of one kernel.
struct MatmulStop {
  std::string kernel;
  result::Params point; ///< complete
  bool timed = true;    ///< by clock and counters; else by the model alone
  bool modelled = false;
  bool operator==(const MatmulStop&) const = default;
};

/// The studies with a description, one per line.
struct MatmulStudyRow {
  const char *name, *prose;
};
[[nodiscard]] const std::vector<MatmulStudyRow>& matmul_studies();

/// All points, each once, in the order of the tables; without external commands and ceilings. Throws
/// recount::Error (bad_input) for an unknown study and for sizes that no kernel takes.
[[nodiscard]] std::vector<MatmulStop> matmul_points(const MatmulChoice& choice);

/// The points at which commands are run: simple and line of the report, up to n = 3000.
[[nodiscard]] std::vector<MatmulStop> command_points(const MatmulChoice& choice);

/// peak and bandwidth, for the ceilings of the roofline. `caches` as the machine states them.
[[nodiscard]] std::vector<MatmulStop> ceiling_points(const std::vector<std::int64_t>& cache_sizes);

} // namespace recount::matmul
