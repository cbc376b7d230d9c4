// A report's document on a terminal.
#pragma once

#include "command/output.hpp"
#include "document/document.hpp"

#include <string>
#include <vector>

namespace recount::command {

/// Headings, sentences in lines of at most `columns`, and tables; pictures are left out.
[[nodiscard]] std::string document_text(const std::vector<document::Block>& blocks,
                                        std::size_t columns = line_width());

/// The tables alone, with their captions as titles.
[[nodiscard]] std::vector<Table> tables_of(const std::vector<document::Block>& blocks);

} // namespace recount::command
