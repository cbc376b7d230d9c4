// `scatter`: loads from or stores to every line of an array, in an order computed on the fly. See
// recount-kernels(7).
#include "kernel/blocks/block.hpp"
#include "kernel/kernel.hpp"
#include "kernel/memory.hpp"
#include "kernel/point.hpp"
#include "kernel/tally.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unistd.h>

namespace recount::kernel {

namespace {

/// The generator that the assembly of blocks_*.def executes.
constexpr std::uint64_t scatter_multiplier = 1103515245, scatter_increment = 12345;

/// A point, checked.
struct ScatterPoint {
  bool stores = false;
  std::int64_t size = 0, stride = 0, passes = 0;
  [[nodiscard]] std::int64_t visited() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return visited() * passes; }
  [[nodiscard]] std::int64_t turns() const { return accesses() / native::steps_per_turn; }
  [[nodiscard]] std::int64_t mask() const { return size - 1; }
  [[nodiscard]] std::int64_t increment() const {
    return static_cast<std::int64_t>(scatter_increment) * stride & mask();
  }
};

const native::Block& scatter_block(const ScatterPoint& at) {
  return native::find_block(at.stores ? "scatter_store" : "scatter_load", "scatter");
}

constexpr std::int64_t most_scattered = std::int64_t{1} << 44;

class ScatterKernel : public BasicKernel {
public:
  ScatterKernel()
      : BasicKernel("scatter", "loads from or stores to every line of an array in pseudo-random order",
                    {choice_parameter("operation", "access to each line", {"store", "load"}),
                     number_parameter("size", "bytes of the array, a power of two", 1 << 20, 1024,
                                      most_scattered, Parameter::Unit::bytes),
                     number_parameter(
                         "stride", "bytes between adjacent visited places, a power of two, at most size / 16",
                         64, 8, most_scattered, Parameter::Unit::bytes),
                     number_parameter("passes", "passes over all places", 10, 1, most_scattered)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override { return at(point).size; }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    const ScatterPoint here = at(point);
    auto memory = std::make_unique<Memory>(here.size, 0, Memory::Pages::small,
                                           fmt::format("scatter --size {}", here.size));
    const native::BlockArguments context{here.turns(), memory->data(), here.mask(), here.increment()};
    return make_instance(scatter_block(here).code, context, here.accesses(), std::move(memory));
  }
  [[nodiscard]] std::string unsimulated() const override { return {}; }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    const ScatterPoint here = at(point);
    const std::uint64_t base = array_base(caches);
    std::uint64_t offset = 0;
    const auto mask = static_cast<std::uint64_t>(here.mask()),
               increment = static_cast<std::uint64_t>(here.increment());
    model::repeat(
        caches, here.passes,
        [&] {
          for (std::int64_t i = 0; i < here.visited(); ++i) {
            offset = (offset * scatter_multiplier + increment) & mask;
            here.stores ? caches.store(base + offset, 8) : caches.load(base + offset, 8);
          }
        },
        &caches.progress);
    return here.accesses();
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override {
    const ScatterPoint here = at(point);
    const native::Block& block = scatter_block(here);
    auto all = instruction_presets(native::steps_per_turn * block.step + block.turn,
                                   static_cast<double>(here.turns()), block.once);
    // Beyond every L2, the store buffer fills faster than lines arrive.
    constexpr std::int64_t far = 8 << 20;
    const auto stores = static_cast<double>(here.accesses());
    if (here.stores && here.size >= far && here.stride >= 64)
      all.push_back(between("PAPI_MEM_WCY", stores / 2, 3000 * stores,
                            "several cycles per store: all miss in L1 and L2"));
    constexpr std::int64_t most_tlb_entries = 4096;
    if (here.stride >= sysconf(_SC_PAGESIZE) && here.visited() >= 4 * most_tlb_entries)
      expect(all, {"PAPI_TLB_DM", "PAPI_TLB_TL"},
             {"", stores, 0.75 * stores, 0.05 * stores + 64,
              "1 per access: each in another page, more pages than TLB entries"});
    return all;
  }

private:
  [[nodiscard]] ScatterPoint at(const result::Params& given) const {
    const result::Params point = complete(*this, given);
    ScatterPoint here{text(point, "operation") == "store", number(point, "size"), number(point, "stride"),
                      number(point, "passes")};
    for (const auto& [name, value] : {std::pair("size", here.size), std::pair("stride", here.stride)})
      if (!std::has_single_bit(static_cast<std::uint64_t>(value)))
        throw bad_input(fmt::format("scatter --{}", name), fmt::format("{} is not a power of two", value),
                        fmt::format("{} or {}", std::bit_floor(static_cast<std::uint64_t>(value)),
                                    std::bit_ceil(static_cast<std::uint64_t>(value))));
    if (here.stride > here.size / native::steps_per_turn)
      throw bad_input("scatter --stride",
                      fmt::format("{} leaves fewer than {} places", here.stride, native::steps_per_turn),
                      fmt::format("at most {}", here.size / native::steps_per_turn));
    if (std::int64_t total = 0; __builtin_mul_overflow(here.visited(), here.passes, &total))
      throw bad_input("scatter --passes", "the number of accesses exceeds 64 bits");
    static_cast<void>(scatter_block(here));
    return here;
  }
};

} // namespace

const Kernel& scatter_kernel() {
  static const ScatterKernel kernel;
  return kernel;
}

} // namespace recount::kernel
