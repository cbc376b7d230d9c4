// `cell`: accesses to one address given in advance, for breakpoints. See recount-kernels(7).
#include "kernel/blocks/block.hpp"
#include "kernel/point.hpp"
#include "kernel/kernels.hpp"
#include "kernel/tally.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::kernel {

namespace {

const native::Block& cell_block(const result::Params& point) {
  const std::string name = "transfer_" + text(point, "operation");
  const auto all = native::blocks();
  return *std::ranges::find(all, name, &native::Block::name);
}

class CellInstance : public Instance {
public:
  CellInstance(void (*code)(void*), std::uint64_t address, std::int64_t turns)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), code_(code) {
    const std::uint64_t start = address / page_ * page_;
    mapping_ = mmap(reinterpret_cast<void*>(start), page_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapping_ != reinterpret_cast<void*>(start)) { // an old kernel treats the address as a hint
      if (mapping_ != MAP_FAILED) munmap(mapping_, page_);
      throw unavailable(fmt::format("cell --address {}", address),
                        std::string("cannot be mapped: ") + std::strerror(errno), {},
                        "choose another --address");
    }
    context_ = {turns, reinterpret_cast<void*>(address), 0, 0};
    *static_cast<volatile std::int64_t*>(context_.data) = 0;
  }
  CellInstance(const CellInstance&) = delete;
  CellInstance& operator=(const CellInstance&) = delete;
  ~CellInstance() override { munmap(mapping_, page_); }

  Region region() override { return {code_, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.turns * native::steps_a_turn; }
  [[nodiscard]] Placement placement() const override {
    return {reinterpret_cast<std::uintptr_t>(context_.data), static_cast<std::int64_t>(page_),
            static_cast<std::int64_t>(page_), 0, 0};
  }

private:
  std::size_t page_;
  void (*code_)(void*);
  void* mapping_ = nullptr;
  native::Turns context_;
};

class CellKernel : public ClosedFormKernel {
public:
  CellKernel()
      : ClosedFormKernel(
            "cell", "loads from or stores to one given address",
            {choice_parameter("operation", "operation per step", {"store", "load"}),
             number_parameter("turns", fmt::format("loop iterations of {} steps", native::steps_a_turn), 100,
                              1, std::int64_t{1} << 40),
             number_parameter("address", "address of the 8 bytes, a multiple of 8", std::int64_t{1} << 45,
                              1 << 20, (std::int64_t{1} << 47) - (1 << 20), Parameter::Unit::bytes)}) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    const result::Params at = complete(*this, point);
    if (number(at, "address") % 8 != 0)
      throw bad_input("cell --address", fmt::format("{} is not a multiple of 8", number(at, "address")));
    return 8;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    static_cast<void>(bytes(point));
    const result::Params at = complete(*this, point);
    return std::make_unique<CellInstance>(
        cell_block(at).code, static_cast<std::uint64_t>(number(at, "address")), number(at, "turns"));
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override {
    static_cast<void>(bytes(point));
    const result::Params at = complete(*this, point);
    const native::Block& block = cell_block(at);
    const auto turns = static_cast<double>(number(at, "turns"));
    auto all = instruction_presets(native::steps_a_turn * block.step + block.turn, turns, block.besides);
    const double stores = turns * native::steps_a_turn * block.step.stores,
                 loads = turns * native::steps_a_turn * block.step.loads;
    // As perf-record(1) writes breakpoints; x86 has none for loads alone.
    const std::string place = fmt::format("mem:{:#x}/8:", number(at, "address"));
    all.push_back({place + "w", stores, 0, 0, "16 stores per turn"});
    all.push_back({place + "rw", stores + loads, 0, 0, "16 accesses per turn"});
    return all;
  }
};

} // namespace

const Kernel& cell_kernel() {
  static const CellKernel kernel;
  return kernel;
}

} // namespace recount::kernel
