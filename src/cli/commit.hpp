// The commit that the program was built from.
#pragma once

namespace recount::cli {

/// Abbreviated, "-dirty" if files were changed; "none" where it was not built from a clone.
extern const char* const commit;

} // namespace recount::cli
