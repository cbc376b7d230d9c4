// Sizes in words.
#pragma once

#include <string>

namespace recount::analysis {

/// "512 B", "4 KiB", "1.5 MiB"; compact: "512", "4K", "1.5M". Three digits.
[[nodiscard]] std::string bytes_text(double bytes, bool compact = false);

} // namespace recount::analysis
