#include "base/glob.hpp"

#include <cstring>
#include <fnmatch.h>

namespace recount::base {

Pattern::Pattern(std::string_view word)
    : word_(word), glob_(word.find_first_of("*?[") != std::string_view::npos) {}

bool Pattern::matches(const std::string& text) const {
  if (word_.empty()) return true;
  if (glob_) return fnmatch(word_.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
  return strcasestr(text.c_str(), word_.c_str()) != nullptr;
}

} // namespace recount::base
