#include "kernel/nest/nest_instance.hpp"

#include "kernel/memory.hpp"
#include "nest/compile.hpp"
#include "nest/generate.hpp"

#include <fmt/format.h>

namespace recount::kernel {
namespace {

/// Not zero: a nest may divide by its elements.
template <class T>
void fill(std::byte* data, std::int64_t bytes, std::int64_t factor) {
  auto* const element = reinterpret_cast<T*>(data);
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(T)); ++i)
    element[i] = static_cast<T>(1 + i % 7 * factor % 7);
}

void fill(nest::Type type, std::byte* data, std::int64_t bytes, std::int64_t factor) {
  switch (type) {
  case nest::Type::f64: return fill<double>(data, bytes, factor);
  case nest::Type::f32: return fill<float>(data, bytes, factor);
  case nest::Type::i64: return fill<std::int64_t>(data, bytes, factor);
  case nest::Type::i32: return fill<std::int32_t>(data, bytes, factor);
  case nest::Type::i16: return fill<std::int16_t>(data, bytes, factor);
  case nest::Type::i8: return fill<std::int8_t>(data, bytes, factor);
  }
}

class NestInstance : public Instance {
public:
  NestInstance(const nest::Point& point, bool huge_pages)
      : code_(generate(point.definition(), point.setting().types)),
        memory_(point.bytes(), point.setting().offset,
                huge_pages ? Memory::Pages::huge : Memory::Pages::small,
                "nest --file " + point.definition().file) {
    const auto& given = point.setting().parameters;
    std::copy(given.begin(), given.end(), context_.parameters.begin());
    for (std::size_t a = 0; a < point.arrays().size(); ++a) {
      const auto& array = point.arrays()[a];
      std::byte* const data = memory_.data() + array.begin;
      context_.arrays[a] = data;
      std::copy(array.strides.begin(), array.strides.end(), context_.strides[a].begin());
      fill(array.type, data, array.bytes, static_cast<std::int64_t>(2 * a % 6 + 1));
    }
    const nest::Work work = point.work();
    accesses_ = work.loads + work.stores;
  }
  Region region() override { return {code_.function(), &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return accesses_; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  nest::CompiledNest code_;
  Memory memory_;
  nest::Context context_;
  std::int64_t accesses_ = 0;
};

} // namespace

std::unique_ptr<Instance> nest_instance(const nest::Point& point, bool huge_pages) {
  return std::make_unique<NestInstance>(point, huge_pages);
}

} // namespace recount::kernel
