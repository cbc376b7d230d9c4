// PAPI's error codes as recount's errors.
#pragma once

#include <recount/error.hpp>

#include <string>

namespace recount::papi {

/// "PAPI_ENOEVNT (-7): Event does not exist". The name comes from papi.h, the text from PAPI.
[[nodiscard]] std::string describe(int code);

/// What a failed call means for the user: cause from describe(), kind and remedy from a table of codes.
/// `subject` is the event or set concerned, `call` PAPI's function.
[[nodiscard]] Error error(std::string subject, const std::string& call, int code);

/// Throws error() unless the code is PAPI_OK.
void check(int code, const std::string& subject, const char* call);

} // namespace recount::papi
