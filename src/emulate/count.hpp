// What happens to the simulated events when a thread has executed something.
#pragma once

#include "emulate/settings.hpp"
#include "emulate/slot.hpp"

namespace recount::emulate {

/// Work, and what each PMU's expressions are computed over: evaluated once, used for many events.
class Effect {
public:
  explicit Effect(const Work& work);
  [[nodiscard]] const std::vector<double>& values(std::size_t pmu) const { return values_[pmu]; }
  [[nodiscard]] double cycles(std::size_t pmu) const;
  [[nodiscard]] double instructions() const;

private:
  std::vector<std::vector<double>> values_;
};

/// Counts of the slot's event in the effect.
[[nodiscard]] double count_of(const Slot& slot, const Effect& effect);

/// The calling thread has executed this in user mode; nothing but time passes for `nullptr`.
void account(const Effect* user, const Effect* kernel);
/// What the call of a function of libc about events executes around itself.
void account_call();

/// The share of time for which a foreign event is scheduled, by turns.
[[nodiscard]] double share_of(const Shared& shared, const Slot& slot);

/// The calling thread has executed a program: begins what counts from there on. Linux removes the events
/// of a user without capabilities from a set-user-ID program.
void begin_program(bool set_user_id);

} // namespace recount::emulate
