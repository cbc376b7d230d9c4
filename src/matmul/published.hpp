// Tables of matrix products that others have published, as results: values taken over, never measured here.
#pragma once

#include "result/results_file.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace recount::matmul {

/// A published table.
struct Published {
  /// Its source; `versions` has "published" (the file's name), "source" (its comments) and, where known,
  /// "machine" (the described machine that it was measured on), "group", "cpu", "microarchitecture", "pages"
  /// and "flags".
  result::Run run;
  std::vector<result::Observation> observations; ///< witness "published"
  std::vector<result::Params> points;            ///< of kernel matmul, each once
};

/// What becomes of a second row for one repetition of a product.
enum class Duplicates {
  refuse, ///< an error
  keep    ///< a further repetition
};

/// Reads CSV: comments begin with #; the first other line names the columns, of which `variant` and `n` are
/// needed: variant is simple, line, block or a name of the kernel matmul; block; seconds, seconds_cpp or
/// seconds_LANGUAGE; repetition, from 1 or words, where a product has several rows; and presets in small
/// letters without PAPI_: l1_dcm, l2_dcm, l2_dca ... An empty field is no value. The column `group` separates
/// the machines of a file: a table for each, in the order of the file. Others describe them: cpu,
/// microarchitecture, pages (4K or huge), pages_basis, flags; note is for readers. `machine`: a described
/// machine; empty: the shipped one that the cpu, else the comments or the file's name mention, or that of the
/// microarchitecture, with huge pages where stated. Throws recount::Error (bad_input) naming file, line and
/// column. At least one table.
[[nodiscard]] std::vector<Published> parse_published(std::string_view text, const std::string& file,
                                                     const std::string& machine = {},
                                                     Duplicates duplicates = Duplicates::refuse);
/// The same from a file.
[[nodiscard]] std::vector<Published> read_published(const std::string& file, const std::string& machine = {},
                                                    Duplicates duplicates = Duplicates::refuse);

/// The shipped description of a microarchitecture ("skylake-client"); empty: there is none.
[[nodiscard]] std::string machine_of_microarchitecture(std::string_view microarchitecture);

// The formulas of presets on a CPU, one line each, recorded so that results are self-contained.

/// "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS (DERIVED_SUB, papi_events.csv:837)" by preset, for those that the
/// table which PAPI reads defines. `cpu`: libpfm4's name of a core PMU ("skl"); empty: this machine's.
/// Nothing, and no error, where there is no table or nobody knows the CPU.
[[nodiscard]] std::map<std::string, std::string> preset_notes(const std::vector<std::string>& presets,
                                                              const std::string& cpu = {});

} // namespace recount::matmul
