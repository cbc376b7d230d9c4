// UTF-8 text from elsewhere, character by character.
#pragma once

#include <string>
#include <string_view>

namespace recount::base {

/// The next character of UTF-8 text, which is cut off it; U+FFFD where the bytes are none.
[[nodiscard]] char32_t next_character(std::string_view& text);
/// UTF-8 of a character.
void append_character(std::string& to, char32_t character);
/// Whether it controls a terminal or moves text instead of being text: C0 and C1 controls, DEL, marks of
/// direction (Unicode Standard Annex 9), invisible characters.
[[nodiscard]] bool is_control(char32_t character);

/// Text of one line that no terminal obeys: a control becomes \u001b, as in JSON (RFC 8259, section 7), and a
/// byte that is no UTF-8 becomes \xff. All else stays, so a second pass changes nothing and JSON stays valid.
[[nodiscard]] std::string printable(std::string_view text);
/// The same of the next character alone, which is cut off `text`.
void append_printable(std::string& to, std::string_view& text);

} // namespace recount::base
