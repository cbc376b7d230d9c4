// What recount matmul found, as JSON.
#pragma once

#include "sweep/session.hpp"

#include <string>

namespace recount::matmul {

/// One object, documented in recount-matmul(1).
[[nodiscard]] std::string matmul_json(const sweep::Ended& ended);

} // namespace recount::matmul
