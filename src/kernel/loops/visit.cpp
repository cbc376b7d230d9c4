// `visit`: follows pointers through places chosen one by one. See recount-kernels(7).
#include "kernel/kernels.hpp"
#include "kernel/loops/pattern.hpp"
#include "kernel/memory.hpp"
#include "kernel/native.hpp"
#include "kernel/point.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace recount::kernel {

namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 24; // their order is held in memory

/// A point of `visit`, checked.
struct VisitPoint {
  Pattern pattern;
  std::int64_t passes = 0;
  [[nodiscard]] std::int64_t accesses() const { return pattern.visits() * passes; }
};

/// The pointers of a cycle must not overlap.
void check_apart(const Pattern& pattern) {
  auto all = places(pattern);
  std::ranges::sort(all);
  const auto closer =
      std::ranges::adjacent_find(all, [](std::uint64_t a, std::uint64_t b) { return b - a < sizeof(void*); });
  if (closer != all.end())
    throw bad_input("visit",
                    fmt::format("two visited places are {} bytes apart, at {} bytes from the first",
                                closer[1] - closer[0], *closer),
                    "use a distance of at least 8 bytes, the size of a pointer");
}

class VisitInstance : public Instance {
public:
  explicit VisitInstance(const VisitPoint& point)
      : memory_(extent(point.pattern), point.pattern.offset,
                point.pattern.huge ? Memory::Pages::huge : Memory::Pages::small,
                fmt::format("visit --count {}", point.pattern.count)),
        context_{nullptr, point.accesses(), nullptr} {
    const auto all = places(point.pattern);
    link(memory_.data(), all);
    context_.start = memory_.data() + all.front();
  }

  Region region() override { return {native::recount_kernel_chase, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.steps; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  Memory memory_;
  native::Chase context_;
};

std::vector<Parameter> visit_parameters() {
  using Unit = Parameter::Unit;
  constexpr std::int64_t most_bytes = std::int64_t{1} << 44;
  const auto bytes = [](const char* name, const char* prose, std::int64_t fallback, std::int64_t least) {
    return Parameter{name, prose, Unit::bytes, result::ParamValue{fallback}, least, most_bytes, {}};
  };
  const auto count = [](const char* name, const char* prose, std::int64_t fallback, std::int64_t least) {
    return Parameter{name, prose, Unit::count, result::ParamValue{fallback}, least, most_elements, {}};
  };
  const auto choice = [](const char* name, const char* prose, std::vector<std::string> words) {
    return Parameter{name, prose, Unit::choice, result::ParamValue{words.front()}, 0, 0, std::move(words)};
  };
  Parameter offset = bytes("offset", "bytes from a page boundary to the first element", 0, 0);
  offset.most = 4095;
  return {count("count", "elements", 16, 1),
          bytes("stride", "bytes from one element to the next", 4096, 1),
          bytes("shift", "additional bytes per element within a group of wrap", 0, 0),
          count("wrap", "elements per group; the shift restarts with each group", 1, 1),
          bytes("pair", "visit each element again at this distance in bytes (0: once)", 0, 0),
          choice("first", "place of a pair visited first", {"near", "far"}),
          count("passes", "passes through all elements", 1000, 1),
          offset,
          choice("pagesize", "page size of the data, requested from the system", {"small", "huge"}),
          count("seed", "seed of the random order", 1, 0)};
}

class VisitKernel : public Kernel {
public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::string& prose() const override { return prose_; }
  [[nodiscard]] std::span<const Parameter> parameters() const override { return parameters_; }
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    const Pattern p = checked(point).pattern;
    return extent(p) + p.visits() * std::int64_t{2 * sizeof(std::uint64_t)}; // with the order, meanwhile
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    return std::make_unique<VisitInstance>(checked(point));
  }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    const VisitPoint at = checked(point);
    const auto all = places(at.pattern);
    const std::uint64_t base = array_base(caches) + static_cast<std::uint64_t>(at.pattern.offset);
    model::repeat(
        caches, at.passes, [&] { replay(all, base, 1, caches); }, &caches.progress);
    return at.accesses();
  }

private:
  [[nodiscard]] VisitPoint checked(const result::Params& given) const {
    const result::Params point = complete(*this, given);
    VisitPoint at{to_pattern(name_, point), number(point, "passes")};
    std::int64_t span = 0, total = 0;
    const Pattern& p = at.pattern;
    if (p.count > most_elements || __builtin_mul_overflow(p.count, p.stride, &span) ||
        __builtin_mul_overflow(p.wrap, p.shift, &total) || span > std::int64_t{1} << 46 ||
        total > std::int64_t{1} << 46)
      throw bad_input("visit --stride", "the elements span more than 64 TiB");
    if (__builtin_mul_overflow(p.visits(), at.passes, &total))
      throw bad_input("visit --passes", "the number of accesses exceeds 64 bits");
    check_apart(p);
    return at;
  }

  const std::string name_ = "visit";
  const std::string prose_ = "follows pointers in random order through individually chosen places; each load "
                             "depends on the previous one";
  const std::vector<Parameter> parameters_ = visit_parameters();
};

} // namespace

const Kernel& visit_kernel() {
  static const VisitKernel kernel;
  return kernel;
}

} // namespace recount::kernel
