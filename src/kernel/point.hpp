// The parameters that kernels over one array share.
#pragma once

#include "kernel/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace recount::kernel {

// Memory for measured code: mapped, placed, every page written.

/// An anonymous private mapping; unmapped when destroyed.
class Memory {
public:
  enum class Pages { small, huge };

  /// Maps `bytes` that begin `offset` bytes (below a small page) after a page boundary, asks for
  /// small pages only or for huge ones (madvise(2); huge: the mapping begins at a 2 MiB boundary, and whether
  /// the system grants it is in placement()), and writes every page with zeros. An untouched page would
  /// be read from the shared zero page and never miss. Throws recount::Error: bad_input when `bytes`
  /// exceed what is available, unavailable when the mapping fails. `subject` names the request in the
  /// message.
  Memory(std::int64_t bytes, std::int64_t offset, Pages pages, const std::string& subject);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  [[nodiscard]] std::byte* data() const { return data_; }
  /// Reads /proc/self/smaps for the huge pages granted; 0 where it cannot be read.
  [[nodiscard]] Placement placement() const;

private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::int64_t bytes_, offset_;
};

/// A point of `stride` and `chase`, checked.
struct StridedPoint {
  std::int64_t size = 0, stride = 0; ///< bytes
  std::int64_t passes = 0;           ///< over the visited elements
  std::int64_t offset = 0;           ///< of the first element in its page
  Memory::Pages pages = Memory::Pages::small;
  [[nodiscard]] std::int64_t visited() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return visited() * passes; }
};

/// size, stride, rounds, passes, offset, pagesize; `min_stride` in bytes.
[[nodiscard]] std::vector<Parameter> strided_parameters(std::int64_t min_stride);

/// Completes and checks a point. Throws recount::Error (bad_input): a stride over the size, no pass at all,
/// the number of accesses exceeds 64 bits.
[[nodiscard]] StridedPoint strided_point(const Kernel& kernel, const Params& given);

/// A number of a complete point.
[[nodiscard]] std::int64_t number(const Params& point, const std::string& name);
[[nodiscard]] const std::string& text(const Params& point, const std::string& name);

// Bases of kernels and of their instances.

/// Name, prose and parameters are data. Without a simulate() of its own, a kernel has closed forms only.
class BasicKernel : public Kernel {
public:
  BasicKernel(std::string name, std::string prose, std::vector<Parameter> parameters)
      : parameters_(std::move(parameters)), name_(std::move(name)), prose_(std::move(prose)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return parameters_; }
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override;
  [[nodiscard]] std::string unsimulated() const override;

protected:
  std::vector<Parameter> parameters_;

private:
  std::string name_, prose_;
};

/// Measured code, the context that it is called with, and the memory that the context points into, if any.
template <class Context>
class NativeInstance : public Instance {
public:
  using Code = void (*)(void* context);
  NativeInstance(Code code, const Context& context, std::int64_t accesses,
                 std::unique_ptr<const Memory> memory = nullptr)
      : context_(context), memory_(std::move(memory)), code_(code), accesses_(accesses) {}
  Region region() override { return {code_, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return accesses_; }
  [[nodiscard]] Placement placement() const override { return memory_ ? memory_->placement() : Placement{}; }

protected:
  Context context_;

private:
  std::unique_ptr<const Memory> memory_;
  Code code_;
  std::int64_t accesses_;
};

template <class Context>
[[nodiscard]] std::unique_ptr<Instance> make_instance(void (*code)(void*), const Context& context,
                                                      std::int64_t accesses,
                                                      std::unique_ptr<const Memory> memory = nullptr) {
  return std::make_unique<NativeInstance<Context>>(code, context, accesses, std::move(memory));
}

/// A number, a choice and a text as rows of data.
[[nodiscard]] Parameter number_parameter(std::string name, std::string prose, std::int64_t fallback,
                                         std::int64_t least, std::int64_t most,
                                         Parameter::Unit unit = Parameter::Unit::count);
[[nodiscard]] Parameter choice_parameter(std::string name, std::string prose,
                                         std::vector<std::string> choices); ///< the first is the default
[[nodiscard]] Parameter text_parameter(std::string name, std::string prose, std::string fallback);

/// pagesize: small or huge; and its value at a point.
[[nodiscard]] Parameter pages_parameter();
[[nodiscard]] Memory::Pages pages(const Params& point);

/// The same expectation of several metrics.
void expect(std::vector<Expectation>& all, std::initializer_list<const char*> metrics, Expectation each);

/// The exact count is between `least` and `most`; the value is their geometric mean.
[[nodiscard]] Expectation between(std::string metric, double least, double most, std::string form);

} // namespace recount::kernel
