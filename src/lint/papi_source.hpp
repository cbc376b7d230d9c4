// libpfm4 of a source tree of PAPI, built for all architectures.
#pragma once

#include <string>

namespace recount::lint {

/// Builds libpfm4 of a source tree of PAPI, or of libpfm4 itself, with the tables of all architectures in a
/// temporary folder, and uses it from now on instead of the installed one. Code of the tree is executed.
/// Throws Error: bad_input for another folder and for sources that cannot be compiled, unavailable without a
/// C compiler.
void use_papi_source(const std::string& folder);

} // namespace recount::lint
