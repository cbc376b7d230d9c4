// Writes a nest down while a kernel's text is executed over variables instead of numbers.
#pragma once

#include "model/accelerated/nest.hpp"

#include <stdexcept>

namespace recount::model {

/// Every loop's body is executed once, its variable being an Affine. Not thread-safe.
class Recorder {
public:
  template <class First, class Last, class Body>
  void loop(const First& first, const Last& last, std::int64_t step, Body&& body) {
    if (depth_ == nest_depth) throw std::logic_error("too many loops in a nest");
    NestLoop loop;
    loop.variable = depth_++;
    loop.first = affine(first);
    loop.last = bound(last);
    loop.step = step;
    std::vector<NestNode>* const outer = body_;
    body_ = &loop.body;
    Affine variable;
    variable.slope[loop.variable] = 1;
    body(variable);
    body_ = outer;
    --depth_;
    body_->emplace_back(std::move(loop));
  }
  void access(Cause cause, unsigned array, const Affine& address, unsigned bytes) {
    if (array >= nest_arrays) throw std::logic_error("too many arrays in a nest");
    body_->emplace_back(NestAccess{cause, array, bytes, address});
  }
  [[nodiscard]] const Nest& nest() const { return nest_; }

  static Affine affine(const Affine& x) { return x; }
  static Affine affine(std::int64_t x) { return {x, {}}; }

private:
  static Bound bound(const Bound& x) { return x; }
  template <class Value>
  static Bound bound(const Value& x) {
    return {affine(x), affine(x)};
  }

  Nest nest_;
  std::vector<NestNode>* body_ = &nest_.nodes;
  std::size_t depth_ = 0;
};

} // namespace recount::model
