// Counts as programs print them, one per line, as a table.
#pragma once

#include <string>
#include <string_view>

namespace recount::explain {

/// A published table (CSV, recount-matmul(1)) of lines "NAME: VALUE", "NAME = VALUE" or "NAME VALUE". Names,
/// in any case: variant, n, block, time or seconds, and misses of L1 and L2 as "PAPI_L1_DCM" or "L1 DCM". A
/// product holds for the counts behind it; a count that is there already begins a further run. Other lines
/// are ignored. Pure. Throws recount::Error (bad_input) naming file and line.
[[nodiscard]] std::string table_from_text(std::string_view text, const std::string& file);

} // namespace recount::explain
