// UTF-8 text from untrusted sources: character by character, and without terminal controls.
#pragma once

#include <string>
#include <string_view>

namespace recount::base {

/// Removes the first character from UTF-8 text that is not empty and returns it; U+FFFD for invalid bytes.
[[nodiscard]] char32_t next_character(std::string_view& text);
/// Appends a character as UTF-8.
void append_character(std::string& to, char32_t character);
/// Whether a character controls the terminal or the layout of text: C0 and C1 controls, DEL, directional
/// formatting (Unicode Standard Annex 9), invisible characters.
[[nodiscard]] bool is_control(char32_t character);

/// Text that is safe to print on a terminal: controls become \u001b, as in JSON (RFC 8259, section 7), and
/// bytes that are not UTF-8 become \xff. Idempotent; JSON stays valid.
[[nodiscard]] std::string printable(std::string_view text);
/// The same for the first character, which is removed from `text`.
void append_printable(std::string& to, std::string_view& text);

} // namespace recount::base
