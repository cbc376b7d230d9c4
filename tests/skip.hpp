// A test case that cannot be tried on this machine: a skip is not a pass, and tells its reason.
#pragma once

#include <atomic>
#include <cstdio>
#include <string>

namespace recount::test {

/// For tests/main.cpp, which counts such a case as skipped.
inline std::atomic<bool> case_skipped = false;

/// The case should return right after it; one that fails all the same has failed.
inline void skip(const std::string& reason) {
  case_skipped = true;
  std::fprintf(stderr, "\nSKIP: %s\n", reason.c_str());
}

} // namespace recount::test
