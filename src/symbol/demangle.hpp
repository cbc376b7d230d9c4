// Names of functions as in the source.
#pragma once

#include <string>

namespace recount::symbol {

/// A C++ or Rust linkage name as source text; anything else as it is. Any input is harmless: a name
/// whose text would be longer than 4096 characters is left as it is. Thread-safe.
[[nodiscard]] std::string demangle(const char* name);

/// The name of a demangled function without its return type, parameters and qualifiers:
/// "ns::f<int>" of "void ns::f<int>(int) const [clone .isra.0]". Pure.
[[nodiscard]] std::string base_name(const std::string& demangled);

/// Whether a name or pattern (fnmatch(3)) of the user denotes the function with this demangled name: it
/// matches the name or its base_name(). Pure.
[[nodiscard]] bool denotes(const std::string& pattern, const std::string& demangled);

} // namespace recount::symbol
