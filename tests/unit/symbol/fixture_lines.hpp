// Where the fixtures' sources say what the tests look for.
#pragma once

#include <fstream>
#include <string>

namespace recount::test {

/// The number of the line of tests/fixtures/FILE that ends in this comment; 0 when there is none.
inline int line_of(const std::string& file, const std::string& comment) {
  std::ifstream in(std::string(FIXTURE_SOURCES) + "/" + file);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number)
    if (line.ends_with("// " + comment)) return number;
  return 0;
}

} // namespace recount::test
