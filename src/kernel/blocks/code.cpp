// `code`: jumps from line to line of code that it has written. See recount-kernels(7).
#include "kernel/blocks/code_point.hpp"
#include "kernel/blocks/emit.hpp"
#include "kernel/closed_form.hpp"
#include "kernel/kernels.hpp"
#include "kernel/loops/cycle.hpp"
#include "kernel/memory.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace recount::kernel {

namespace {

/// Where the blocks lie, in the order of execution: one random cycle.
std::vector<std::uint64_t> code_places(const CodePoint& at) {
  const auto next = random_cycle(at.blocks(), at.seed);
  std::vector<std::uint64_t> places;
  places.reserve(next.size());
  for (std::uint64_t block = 0, i = 0; i < next.size(); ++i, block = next[static_cast<std::size_t>(block)])
    places.push_back(static_cast<std::uint64_t>(code_line) + block * static_cast<std::uint64_t>(at.stride));
  return places;
}

class CodeInstance : public Instance {
public:
  explicit CodeInstance(const CodePoint& at)
      : memory_(at.bytes(), 0, Memory::Pages::small, fmt::format("code --size {}", at.size)),
        passes_(at.passes),
        accesses_(at.accesses()) {
    emit_jumps({memory_.data(), static_cast<std::size_t>(at.bytes())}, code_places(at), at.full);
    // Never writable and executable at once, for systems that forbid this (W^X).
    if (mprotect(memory_.data(), static_cast<std::size_t>(memory_.placement().bytes),
                 PROT_READ | PROT_EXEC) != 0)
      throw unavailable("code", std::string("generated code cannot be executed: ") + std::strerror(errno), {},
                        "a security policy (SELinux: execmem) forbids it");
    code_ = reinterpret_cast<void (*)(void*)>(memory_.data());
  }
  Region region() override { return {code_, &passes_}; }
  [[nodiscard]] std::int64_t accesses() const override { return accesses_; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  std::int64_t passes_, accesses_;
  void (*code_)(void*) = nullptr;
};

/// The entry, then in each pass the blocks in their order and the end of the frame. Each block is fetched
/// once; its argument, the only data, is not loaded.
void fetch_code(const CodePoint& at, model::Hierarchy& caches) {
  const std::uint64_t base = array_base(caches);
  constexpr unsigned jump = 4; // bytes of which every architecture needs the first line
  const auto bytes = static_cast<unsigned>(at.full ? code_line : jump);
  const std::vector<std::uint64_t> places = code_places(at);
  caches.fetch(base, code_entry);
  model::repeat(
      caches, at.passes,
      [&] {
        for (const std::uint64_t place : places)
          caches.fetch(base + place, bytes);
        caches.fetch(base + code_entry, code_tail);
      },
      &caches.progress);
}

class CodeKernel : public ClosedFormKernel {
public:
  CodeKernel()
      : ClosedFormKernel("code", "jumps between lines of code in pseudo-random order", code_parameters()) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return code_point(*this, point).bytes();
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    const CodePoint at = code_point(*this, point);
    if (!can_emit()) throw unavailable("code", "not available on this architecture");
    return std::make_unique<CodeInstance>(at);
  }
  [[nodiscard]] std::string unsimulated() const override { return {}; }
  [[nodiscard]] bool fetches() const override { return true; }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    const CodePoint at = code_point(*this, point);
    const model::MachineDescription& machine = caches.machine();
    if (!machine.instructions)
      throw unavailable("code", machine.name + " describes no caches of instructions (instructions)");
    if (machine.placement && machine.placement->mixed)
      throw unavailable("code", "its code is in small pages, not in those of ~placement=mixed");
    fetch_code(at, caches);
    return at.accesses();
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override {
    const CodePoint at = code_point(*this, point);
    return can_emit() ? code_presets(at) : std::vector<Expectation>{};
  }
};

} // namespace

const Kernel& code_kernel() {
  static const CodeKernel kernel;
  return kernel;
}

} // namespace recount::kernel
