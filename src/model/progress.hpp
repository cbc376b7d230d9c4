// How far a simulation has come.
#pragma once

#include <functional>
#include <utility>

namespace recount::model {

/// Told by the loops of a simulation. Not thread-safe.
class Progress {
public:
  /// Called with the share of the simulation that is done, 0 to 1; often, so it should be quick.
  std::function<void(double share)> listener;

  /// What follows is the part of the whole from `from` to `to`.
  void part(double from, double to) {
    from_ = from;
    to_ = to;
  }
  /// This share of the part is done.
  void tell(double share) const {
    if (listener) listener(from_ + share * (to_ - from_));
  }

private:
  double from_ = 0, to_ = 1;
};

} // namespace recount::model
