// A report's document on a terminal.
#pragma once

#include "document/document.hpp"

#include <string>
#include <vector>

namespace recount::cli {

/// Headings, sentences in lines of at most `columns`, and tables; pictures are left out.
[[nodiscard]] std::string document_text(const std::vector<report::Block>& blocks, std::size_t columns = 100);

} // namespace recount::cli
