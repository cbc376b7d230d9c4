// Starting a command with this process's terminal, and waiting for it.
#pragma once

#include "process/child.hpp"
#include "process/waiter.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::stat {

/// What is done while a command runs.
class Ticks {
public:
  Ticks() = default;
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;
  virtual ~Ticks() = default;
  /// When to look next; none: never.
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point> next() const { return {}; }
  virtual void look() {}
};

/// Standard input and the process group are this process's; `held`: see process::Spawn. Throws as
/// process::Child.
[[nodiscard]] process::Child start(const std::vector<std::string>& command, bool held,
                                   const std::vector<std::pair<std::string, std::string>>& environment = {},
                                   const std::vector<std::pair<int, int>>& descriptors = {});

/// Waits for the command and hands signals on to it; the last one is left in `signal`. Exceptions of `ticks`
/// are rethrown after its end.
process::Exit attend(process::Child& child, const process::HeldSignals& signals, int& signal, Ticks& ticks);

} // namespace recount::stat
