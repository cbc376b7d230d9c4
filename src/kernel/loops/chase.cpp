// `chase`: follows pointers through the elements that `stride` visits. See recount-kernels(7).
#include "kernel/point.hpp"
#include "kernel/kernels.hpp"
#include "kernel/loops/loop_bodies.hpp"
#include "kernel/native.hpp"
#include "model/hierarchy.hpp"

#include <fmt/format.h>

#include <cstring>
#include <unistd.h>

namespace recount::kernel {

namespace {

struct ModelledPointers {
  model::Hierarchy& caches;
  const std::vector<std::uint64_t>& next;
  std::uint64_t x, stride;
  [[nodiscard]] std::uint64_t follow(std::uint64_t element) const {
    caches.load(x + element * stride, sizeof(void*));
    return next[element];
  }
};

class ChaseInstance : public Instance {
public:
  ChaseInstance(const StridedPoint& point, std::int64_t seed)
      : memory_(point.size, point.offset, point.pages, fmt::format("chase --size {}", point.size)),
        context_{memory_.data(), point.accesses(), nullptr} {
    const auto next = random_cycle(point.visited(), seed);
    const auto stride = static_cast<std::size_t>(point.stride);
    for (std::size_t i = 0; i < next.size(); ++i) {
      const void* const target = memory_.data() + next[i] * stride;
      std::memcpy(memory_.data() + i * stride, &target, sizeof target);
    }
  }

  Region region() override { return {native::recount_kernel_chase, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.steps; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  native::Chase context_;
};

/// What cannot be simulated: loads far from the core stall it, and pages beyond every TLB are not found.
std::vector<Expectation> chase_presets(const StridedPoint& at) {
  constexpr std::int64_t far = 4 << 20, most_tlb_entries = 4096, few_pages = 16; // larger than any L1 or L2
  const auto n = static_cast<double>(at.accesses());
  std::vector<Expectation> all;
  if (at.size >= far && at.stride >= 64)
    for (const char* preset :
         {"PAPI_MEM_SCY", "PAPI_MEM_RCY", "PAPI_STL_ICY", "PAPI_STL_CCY", "PAPI_FXU_IDL"})
      all.push_back(between(preset, 4 * n, 3000 * n, "most cycles of a dependent load"));
  if (at.pages == Memory::Pages::small && at.stride >= sysconf(_SC_PAGESIZE) &&
      at.visited() >= 4 * most_tlb_entries)
    for (const char* preset : {"PAPI_TLB_DM", "PAPI_TLB_TL"})
      all.push_back(
          {preset, n, 0.75 * n, 0.05 * n + 64,
           "1 per load: each in another page, more pages than TLB entries; fewer where one entry maps "
           "adjacent pages"});
  if (at.pages == Memory::Pages::small && at.stride >= sysconf(_SC_PAGESIZE) && at.visited() <= few_pages)
    for (const char* preset : {"PAPI_TLB_DM", "PAPI_TLB_TL"})
      all.push_back({preset, 0, 0, 0.05 * n + 64, "none per load: fewer pages than TLB entries"});
  return all;
}

class ChaseKernel : public Kernel {
public:
  ChaseKernel() {
    parameters_.push_back({"seed",
                           "seed of the random order",
                           Parameter::Unit::count,
                           result::ParamValue{std::int64_t{1}},
                           0,
                           0,
                           {}});
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return parameters_; }
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    const StridedPoint at = strided_point(*this, point);
    return at.size +
           at.visited() * std::int64_t{sizeof(std::uint64_t)}; // including the order during initialisation
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    return std::make_unique<ChaseInstance>(strided_point(*this, point), seed(point));
  }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    const StridedPoint at = strided_point(*this, point);
    const auto next = random_cycle(at.visited(), seed(point));
    const ModelledPointers memory{caches, next, array_base(caches) + static_cast<std::uint64_t>(at.offset),
                                  static_cast<std::uint64_t>(at.stride)};
    model::repeat(
        caches, at.passes, [&] { chase_loop(memory, std::uint64_t{0}, at.visited()); }, &caches.progress);
    return at.accesses();
  }

  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override {
    return chase_presets(strided_point(*this, point));
  }

private:
  [[nodiscard]] std::int64_t seed(const result::Params& point) const {
    return number(complete(*this, point), "seed");
  }

  const std::string name_ = "chase";
  const std::string prose_ = "follows pointers in random order through the elements of stride; "
                             "each load depends on the previous one";
  std::vector<Parameter> parameters_ = strided_parameters(sizeof(void*));
};

} // namespace

const Kernel& chase_kernel() {
  static const ChaseKernel kernel;
  return kernel;
}

} // namespace recount::kernel
