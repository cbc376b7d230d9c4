// `peak` and `bandwidth`: peak throughput and bandwidth of this processor. See recount-kernels(7).
#include "kernel/matmul/ceilings.hpp"

#include "kernel/closed_form.hpp"
#include "kernel/kernels.hpp"
#include "kernel/matmul/native_ceiling.hpp"
#include "kernel/memory.hpp"
#include "kernel/point.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

namespace recount::kernel {

namespace {

class PeakInstance : public Instance {
public:
  PeakInstance(bool vectors, std::int64_t turns)
      : code_(vectors ? native::recount_kernel_peak_vector : native::recount_kernel_peak_scalar) {
    context_.turns = turns;
  }
  Region region() override { return {code_, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return 0; }

private:
  void (*code_)(void*);
  native::Ceiling context_;
};

class PeakKernel : public ClosedFormKernel {
public:
  PeakKernel()
      : ClosedFormKernel(
            "peak", "multiplies and adds doubles in registers at peak throughput",
            {choice_parameter("width", "vector: the widest available; scalar", {"vector", "scalar"}),
             number_parameter("turns", "loop iterations, one step in each of 12 independent chains",
                              20'000'000, 1, std::int64_t{1} << 40)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    static_cast<void>(complete(*this, point));
    return sizeof(native::Ceiling);
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& given) const override {
    const result::Params point = complete(*this, given);
    if (vectors(point)) need_vectors(name());
    return std::make_unique<PeakInstance>(vectors(point), number(point, "turns"));
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& given) const override {
    const result::Params point = complete(*this, given);
    const int doubles = vectors(point) ? native::vectorised().doubles : 1;
    const double flop = 2.0 * native::peak_chains * doubles * static_cast<double>(number(point, "turns"));
    const std::string form =
        fmt::format("2 operations on {} doubles in {} chains per turn", doubles, native::peak_chains);
    return {{"PAPI_FP_OPS", flop, 0, 0, form}, {"PAPI_DP_OPS", flop, 0, 0, form}};
  }

private:
  [[nodiscard]] static bool vectors(const result::Params& point) { return text(point, "width") == "vector"; }
};

class BandwidthInstance : public Instance {
public:
  BandwidthInstance(std::int64_t bytes, std::int64_t passes)
      : memory_(bytes, 0, Memory::Pages::huge, fmt::format("bandwidth --size {}", bytes)) {
    context_.turns = passes;
    context_.data = memory_.data();
    context_.bytes = bytes;
  }
  Region region() override { return {native::recount_kernel_bandwidth, &context_}; }
  void warm() override {
    native::Ceiling once = context_;
    once.turns = 1;
    native::recount_kernel_bandwidth(&once);
  }
  [[nodiscard]] std::int64_t accesses() const override { return context_.turns * (context_.bytes / 8); }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  native::Ceiling context_;
};

class BandwidthKernel : public ClosedFormKernel {
public:
  BandwidthKernel()
      : ClosedFormKernel(
            "bandwidth", "reads an array sequentially at peak bandwidth",
            {number_parameter("size", "bytes of the array, in steps of 1024", 1 << 20, 1024,
                              std::int64_t{1} << 40, Parameter::Unit::bytes),
             number_parameter("passes", "passes over the array", 100, 1, std::int64_t{1} << 32)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return number(complete(*this, point), "size") / 1024 * 1024;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& given) const override {
    const result::Params point = complete(*this, given);
    need_vectors(name());
    return std::make_unique<BandwidthInstance>(bytes(point), number(point, "passes"));
  }
};

} // namespace

std::string vectorised_for() {
  return native::vectorised().instructions;
}

void need_vectors(const std::string& kernel) {
  const std::string reason = missing(native::vectorised().needs);
  if (reason.empty()) return;
  throw unavailable(kernel, "recount was built for a different processor: " + reason,
                    "built with -march=native for " + vectorised_for(), "build recount on this machine");
}

const Kernel& peak_kernel() {
  static const PeakKernel kernel;
  return kernel;
}

const Kernel& bandwidth_kernel() {
  static const BandwidthKernel kernel;
  return kernel;
}

} // namespace recount::kernel
