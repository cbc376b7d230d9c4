#include "kernel/provoked.hpp"

#include "kernel/point.hpp"

namespace recount::kernel {

ProvokedKernel::ProvokedKernel(const Provoked& row)
    : ClosedFormKernel(row.name, row.prose, {row.times}), row_(row) {}

std::int64_t ProvokedKernel::times(const result::Params& point) const {
  return number(complete(*this, point), row_.times.name);
}

std::int64_t ProvokedKernel::bytes(const result::Params& point) const {
  return times(point) * row_.bytes_each + row_.bytes;
}

std::unique_ptr<Instance> ProvokedKernel::prepare(const result::Params& point) const {
  return row_.prepare(times(point));
}

std::vector<Expectation> ProvokedKernel::expected(const result::Params& point) const {
  return row_.expected(static_cast<double>(times(point)));
}

std::int64_t ProvokedKernel::simulate(const result::Params& point, model::Hierarchy& caches) const {
  return row_.simulate ? row_.simulate(times(point), caches) : ClosedFormKernel::simulate(point, caches);
}

std::string ProvokedKernel::unsimulated() const {
  return row_.simulate ? std::string() : ClosedFormKernel::unsimulated();
}

} // namespace recount::kernel
