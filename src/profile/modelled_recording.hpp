// A profile by simulation: recount profile -e model:PAPI_L1_DCM.
#pragma once

#include "profile/recording.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::profile {

/// "model:METRIC" (this machine) or "model:NAME:METRIC".
struct ModelledEvent {
  std::string machine; ///< as model::machine() takes it
  std::string metric;
};
/// Nothing for another event. Pure.
[[nodiscard]] std::optional<ModelledEvent> modelled_event(const std::string& event);

/// Whether these are events of a model. Throws Error (bad_input) for both kinds, and for several machines.
[[nodiscard]] bool are_modelled(const std::vector<EventRequest>& events);

/// A modelled event, and all of trace::MissKinds. Throws Error as model::machine() does.
[[nodiscard]] std::vector<EventRequest> with_kinds(const EventRequest& first);

/// Whether an event is one of these that simulate a changed machine, which advice_text() shows. Pure.
[[nodiscard]] bool only_advises(const std::string& event);

/// Simulates the command: every occurrence is one sample of the instruction that causes it. Throws Error as
/// model::machine() and trace::tool_command() do.
[[nodiscard]] Recording record_modelled(const RecordSettings& settings);

} // namespace recount::profile
