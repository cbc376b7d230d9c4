// Where a program begins, from its file.
#pragma once

#include <cstdint>
#include <string>

namespace recount::symbol {

/// The program interpreter of an executable (PT_INTERP), its dynamic linker. Empty: it has none, or the file
/// is no program of 64 bits.
[[nodiscard]] std::string linker_of(const std::string& file);

/// Bytes from the entry point of a statically linked program to its main(), modulo 2^64; 0 for any other
/// program, and without symbols. What runs between depends on where it runs: libc reads the symbols of the
/// kernel's vdso there, selects functions for this CPU and relocates.
[[nodiscard]] std::uint64_t entry_to_main(const std::string& file);

} // namespace recount::symbol
