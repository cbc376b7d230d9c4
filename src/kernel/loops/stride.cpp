// `stride`: adds 1 to every stride-th byte of an array. See recount-kernels(7).
#include "kernel/kernels.hpp"
#include "kernel/loops/loop_bodies.hpp"
#include "kernel/native.hpp"
#include "kernel/point.hpp"
#include "model/hierarchy.hpp"

#include <fmt/format.h>

namespace recount::kernel {

namespace {

struct ModelledBytes {
  model::Hierarchy& caches;
  std::uint64_t x;
  void increment(std::int64_t i) const {
    const std::uint64_t address = x + static_cast<std::uint64_t>(i);
    caches.load(address, 1);
    caches.store(address, 1);
  }
};

class StrideInstance : public Instance {
public:
  explicit StrideInstance(const StridedPoint& point)
      : memory_(point.size, point.offset, point.pages, fmt::format("stride --size {}", point.size)),
        context_{reinterpret_cast<std::uint8_t*>(memory_.data()), point.size, point.stride, point.passes},
        accesses_(point.accesses()) {}

  Region region() override { return {native::recount_kernel_stride, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return accesses_; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  native::Stride context_;
  std::int64_t accesses_;
};

class StrideKernel : public Kernel {
public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return parameters_; }
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return strided_point(*this, point).size;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    return std::make_unique<StrideInstance>(strided_point(*this, point));
  }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    const StridedPoint at = strided_point(*this, point);
    const ModelledBytes memory{caches, array_base(caches) + static_cast<std::uint64_t>(at.offset)};
    model::repeat(
        caches, at.passes, [&] { stride_loop(memory, at.size, at.stride, 1); }, &caches.progress);
    return at.accesses();
  }

private:
  const std::string name_ = "stride";
  const std::string prose_ =
      "adds 1 to every stride-th byte of an array, in several passes; accesses are independent";
  const std::vector<Parameter> parameters_ = strided_parameters(1);
};

} // namespace

const Kernel& stride_kernel() {
  static const StrideKernel kernel;
  return kernel;
}

} // namespace recount::kernel
