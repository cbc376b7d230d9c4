// Searching by pattern.
#pragma once

#include <string>
#include <string_view>

namespace recount::base {

/// A search word: with any of * ? [ it is a pattern for the whole text (glob(7)), otherwise it may occur
/// anywhere in it. Case is ignored. An empty word matches everything. Pure.
class Pattern {
public:
  explicit Pattern(std::string_view word);
  [[nodiscard]] bool matches(const std::string& text) const;
  [[nodiscard]] bool empty() const noexcept { return word_.empty(); }
  [[nodiscard]] bool glob() const noexcept { return glob_; }

private:
  std::string word_;
  bool glob_;
};

} // namespace recount::base
