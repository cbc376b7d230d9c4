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
  result::Run run; ///< its source; `versions` has "published" (the file's name), "source" (its comments) and
                   ///< "machine" (the described machine that it was measured on), where known
  std::vector<result::Observation> observations; ///< witness "published"
  std::vector<result::Params> points;            ///< of kernel matmul, each once
};

/// Reads CSV: comments begin with #; the first other line names the columns, of which `variant` and `n` are
/// needed: variant is simple, line, block or a name of the kernel matmul; block; seconds, seconds_cpp or
/// seconds_LANGUAGE; repetition, from 1, where a product has several rows; and presets in small letters
/// without PAPI_: l1_dcm, l2_dcm, l2_dca ... An empty field is no value. `machine`: a described machine;
/// empty: the shipped one that the comments or the file's name mention, if any. Throws recount::Error
/// (bad_input) naming file, line and column.
[[nodiscard]] Published parse_published(std::string_view text, const std::string& file,
                                        const std::string& machine = {});
/// The same from a file.
[[nodiscard]] Published read_published(const std::string& file, const std::string& machine = {});

// The formulas of presets on a CPU, one line each, recorded so that results are self-contained.

/// "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS (DERIVED_SUB, papi_events.csv:837)" by preset, for those that the
/// table which PAPI reads defines. `cpu`: libpfm4's name of a core PMU ("skl"); empty: this machine's.
/// Nothing, and no error, where there is no table or nobody knows the CPU.
[[nodiscard]] std::map<std::string, std::string> preset_notes(const std::vector<std::string>& presets,
                                                              const std::string& cpu = {});

} // namespace recount::matmul
