// The verdicts as they are kept for other commands.
#pragma once

#include "check/check.hpp"
#include "verdict/verdict_store.hpp"

#include <vector>

namespace recount::check {

/// What a value of the preset or event is marked with; empty where nothing is wrong. `as`: the metric that it
/// was compared with, if it is another. Pure.
[[nodiscard]] std::string mark_of(const PresetVerdict& verdict, const std::string& as = {});

/// The verdicts on everything that was counted. NAME=METRIC is kept for events only: of a preset it is a
/// question about another meaning. Encodes the events.
[[nodiscard]] std::vector<verdict::Entry> kept_entries(const CheckPlan& plan, const Checked& checked);

} // namespace recount::check
