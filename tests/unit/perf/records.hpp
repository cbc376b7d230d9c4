// Made-up records, word by word, as the kernel lays them out.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace recount::test {

using Words = std::vector<std::uint64_t>;

inline std::uint64_t pair(std::uint32_t first, std::uint32_t second) {
  const std::uint32_t halves[]{first, second};
  std::uint64_t word = 0;
  std::memcpy(&word, halves, sizeof word);
  return word;
}

/// A record of that type with its header made for the body.
inline Words record(std::uint32_t type, std::uint16_t misc, const Words& body) {
  perf_event_header header{};
  header.type = type;
  header.misc = misc;
  header.size = static_cast<std::uint16_t>(sizeof header + body.size() * 8);
  Words words(1);
  std::memcpy(words.data(), &header, sizeof header);
  words.insert(words.end(), body.begin(), body.end());
  return words;
}

/// A text as the kernel writes it: ended by NUL, filled up to whole words.
inline Words text(const std::string& letters) {
  Words words(letters.size() / 8 + 1);
  std::memcpy(words.data(), letters.data(), letters.size());
  return words;
}

inline Words join(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

} // namespace recount::test
