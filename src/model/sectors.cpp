#include "model/sectors.hpp"

#include <map>

namespace recount::model {

void Sectors::save(std::vector<std::uint64_t>& words) const {
  if (!any()) return;
  words.push_back(lines_.size());
  for (const auto& [line, of] : std::map(lines_.begin(), lines_.end()))
    words.insert(words.end(), {line, of.valid, of.dirty});
}

void Sectors::restore(std::span<const std::uint64_t>& words) {
  lines_.clear();
  if (!any()) return;
  const auto count = words[0];
  words = words.subspan(1);
  for (std::uint64_t i = 0; i < count; ++i, words = words.subspan(3))
    lines_[words[0]] = {words[1], words[2]};
}

} // namespace recount::model
