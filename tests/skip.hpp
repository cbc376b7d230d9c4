// A test case that cannot be tried on this machine: a skip is not a pass, and tells its reason.
#pragma once

#include <cstdio>
#include <string>

namespace recount::test {

/// Prints what tests/summary.py counts as a skip; the case should return right after it. Once a case.
inline void skip(const std::string& reason) {
  std::fprintf(stderr, "\nSKIP: %s\n", reason.c_str());
}

} // namespace recount::test
