#include "kernel/loops/pattern.hpp"

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "kernel/native.hpp"
#include "kernel/point.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace recount::kernel {

namespace {

std::uint64_t element_place(const Pattern& p, std::int64_t i) {
  const std::int64_t slot = p.slots.empty() ? i : p.slots[static_cast<std::size_t>(i)];
  return static_cast<std::uint64_t>(slot * p.stride + (i % p.wrap) * p.shift);
}

/// Places in the order of a cycle, element by element.
struct ModelledPlaces {
  model::Hierarchy& caches;
  std::span<const std::uint64_t> places;
  std::uint64_t base;
  [[nodiscard]] std::size_t follow(std::size_t at) const {
    caches.load(base + places[at], sizeof(void*));
    return at + 1 == places.size() ? 0 : at + 1;
  }
};

} // namespace

Pattern dense(std::int64_t count, std::int64_t stride) {
  Pattern p;
  p.count = count;
  p.stride = stride;
  return p;
}

bool is_dense(const Pattern& p) {
  Pattern plain = dense(p.count, p.stride);
  plain.offset = p.offset;
  plain.huge = p.huge;
  plain.seed = p.seed;
  return p == plain;
}

std::vector<std::uint64_t> places(const Pattern& p) {
  const auto next = random_cycle(p.count, p.seed);
  std::vector<std::uint64_t> all;
  all.reserve(static_cast<std::size_t>(p.visits()));
  std::size_t element = 0;
  do {
    const std::uint64_t at = element_place(p, static_cast<std::int64_t>(element));
    const std::uint64_t further = at + static_cast<std::uint64_t>(p.pair);
    all.push_back(p.before ? further : at);
    if (p.pair != 0) all.push_back(p.before ? at : further);
    element = next[element];
  } while (element != 0);
  return all;
}

std::int64_t extent(const Pattern& p) {
  std::uint64_t last = 0;
  // Without slots, elements a group apart ascend.
  for (std::int64_t i = p.slots.empty() ? std::max<std::int64_t>(0, p.count - p.wrap) : 0; i < p.count; ++i)
    last = std::max(last, element_place(p, i));
  return static_cast<std::int64_t>(last) + p.pair + std::int64_t{sizeof(void*)};
}

void link(std::byte* base, std::span<const std::uint64_t> places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const void* const target = base + places[i + 1 == places.size() ? 0 : i + 1];
    std::memcpy(base + places[i], &target, sizeof target);
  }
}

void replay(std::span<const std::uint64_t> places, std::uint64_t base, std::int64_t passes,
            model::Hierarchy& caches) {
  const ModelledPlaces memory{caches, places, base};
  chase_loop(memory, std::size_t{0}, passes * static_cast<std::int64_t>(places.size()));
}

std::vector<std::uint64_t> random_cycle(std::int64_t n, std::int64_t seed) {
  std::vector<std::uint64_t> next(static_cast<std::size_t>(n));
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  auto state = static_cast<std::uint64_t>(seed);
  for (std::size_t i = next.size() - 1; i > 0; --i)
    std::swap(next[i], next[static_cast<std::size_t>(base::random_below(state, i))]);
  return next;
}

// Patterns as points of the kernels chase and visit, and back.

namespace {

std::vector<std::int64_t> parse_slots(const std::string& list) {
  std::vector<std::int64_t> slots;
  for (const auto slot : base::split(std::string_view(list), ',')) {
    const auto number = base::parse<std::int64_t>(slot);
    if (!number || *number < 0) throw bad_input("slots " + list, "is not a list of integers");
    slots.push_back(*number);
  }
  return slots;
}

} // namespace

KernelPoint to_point(const Pattern& p, std::int64_t passes) {
  Params params{{"stride", p.stride},
                {"passes", passes},
                {"offset", p.offset},
                {"pagesize", std::string(p.huge ? "huge" : "small")},
                {"seed", p.seed}};
  if (is_dense(p)) {
    params["size"] = p.count * p.stride;
    params["rounds"] = std::int64_t{0};
    return {"chase", params};
  }
  params["count"] = p.count;
  params["shift"] = p.shift;
  params["wrap"] = p.wrap;
  params["pair"] = p.pair;
  params["first"] = std::string(p.before ? "far" : "near");
  if (!p.slots.empty()) params["slots"] = fmt::format("{}", fmt::join(p.slots, ","));
  return {"visit", params};
}

Pattern to_pattern(const std::string& name, const Params& given) {
  Params params = given;
  Pattern p;
  if (const auto slots = params.find("slots"); name == "visit" && slots != params.end()) {
    if (const auto* list = std::get_if<std::string>(&slots->second)) p.slots = parse_slots(*list);
    params.erase(slots);
  }
  if (name != "visit" && name != "chase") throw bad_input(name, "is not a pointer-chasing kernel");
  const Params point = complete(find(name), params);
  p.stride = number(point, "stride");
  p.offset = number(point, "offset");
  p.huge = text(point, "pagesize") == "huge";
  p.seed = number(point, "seed");
  if (name == "chase") {
    p.count = number(point, "size") / p.stride;
    return p;
  }
  p.count = p.slots.empty() ? number(point, "count") : static_cast<std::int64_t>(p.slots.size());
  p.shift = number(point, "shift");
  p.wrap = number(point, "wrap");
  p.pair = number(point, "pair");
  p.before = text(point, "first") == "far";
  return p;
}

// `chase`: follows pointers through the elements that `stride` visits. See recount-kernels(7).

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

/// What cannot be simulated: loads far from the core stall it, and pages beyond every TLB are not found.
std::vector<Expectation> chase_presets(const StridedPoint& at) {
  constexpr std::int64_t far = 4 << 20, max_tlb_entries = 4096, few_pages = 16; // larger than any L1 or L2
  const auto n = static_cast<double>(at.accesses());
  const bool in_pages = at.pages == Memory::Pages::small && at.stride >= sysconf(_SC_PAGESIZE);
  std::vector<Expectation> all;
  if (at.size >= far && at.stride >= 64)
    expect(all, {"PAPI_MEM_SCY", "PAPI_MEM_RCY", "PAPI_STL_ICY", "PAPI_STL_CCY", "PAPI_FXU_IDL"},
           between("", 4 * n, 3000 * n, "most cycles of a dependent load"));
  if (in_pages && at.visited() >= 4 * max_tlb_entries)
    expect(all, {"PAPI_TLB_DM", "PAPI_TLB_TL"},
           {"", n, 0.75 * n, 0.05 * n + 64,
            "1 per load: each in another page, more pages than TLB entries; fewer where one entry maps "
            "adjacent pages"});
  if (in_pages && at.visited() <= few_pages)
    expect(all, {"PAPI_TLB_DM", "PAPI_TLB_TL"},
           {"", 0, 0, 0.05 * n + 64, "none per load: fewer pages than TLB entries"});
  return all;
}

std::vector<Parameter> chase_parameters() {
  auto all = strided_parameters(sizeof(void*));
  all.push_back(number_parameter("seed", "seed of the random order", 1, 0, 0));
  return all;
}

class ChaseKernel : public BasicKernel {
public:
  ChaseKernel()
      : BasicKernel(
            "chase",
            "follows pointers in random order through the elements of stride; each load depends on the "
            "previous one",
            chase_parameters()) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    const StridedPoint at = strided_point(*this, point);
    return at.size + at.visited() * std::int64_t{sizeof(std::uint64_t)}; // with the order, meanwhile
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    const StridedPoint at = strided_point(*this, point);
    auto memory =
        std::make_unique<Memory>(at.size, at.offset, at.pages, fmt::format("chase --size {}", at.size));
    const auto next = random_cycle(at.visited(), seed(point));
    const auto stride = static_cast<std::size_t>(at.stride);
    for (std::size_t i = 0; i < next.size(); ++i) {
      const void* const target = memory->data() + next[i] * stride;
      std::memcpy(memory->data() + i * stride, &target, sizeof target);
    }
    const native::Chase context{memory->data(), at.accesses(), nullptr};
    return make_instance(native::recount_kernel_chase, context, at.accesses(), std::move(memory));
  }
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override {
    const StridedPoint at = strided_point(*this, point);
    const auto next = random_cycle(at.visited(), seed(point));
    const ModelledPointers memory{caches, next, array_base(caches) + static_cast<std::uint64_t>(at.offset),
                                  static_cast<std::uint64_t>(at.stride)};
    model::repeat(
        caches, at.passes, [&] { chase_loop(memory, std::uint64_t{0}, at.visited()); }, &caches.progress);
    return at.accesses();
  }
  [[nodiscard]] std::string unsimulated() const override { return {}; }
  [[nodiscard]] std::vector<Expectation> expected(const Params& point) const override {
    return chase_presets(strided_point(*this, point));
  }

private:
  [[nodiscard]] std::int64_t seed(const Params& point) const {
    return number(complete(*this, point), "seed");
  }
};

} // namespace

const Kernel& chase_kernel() {
  static const ChaseKernel kernel;
  return kernel;
}

// `stride`: adds 1 to every stride-th byte of an array. See recount-kernels(7).

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

class StrideKernel : public BasicKernel {
public:
  StrideKernel()
      : BasicKernel("stride",
                    "adds 1 to every stride-th byte of an array, in several passes; accesses are independent",
                    strided_parameters(1)) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    return strided_point(*this, point).size;
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    const StridedPoint at = strided_point(*this, point);
    auto memory =
        std::make_unique<Memory>(at.size, at.offset, at.pages, fmt::format("stride --size {}", at.size));
    const native::Stride context{reinterpret_cast<std::uint8_t*>(memory->data()), at.size, at.stride,
                                 at.passes};
    return make_instance(native::recount_kernel_stride, context, at.accesses(), std::move(memory));
  }
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override {
    const StridedPoint at = strided_point(*this, point);
    const ModelledBytes memory{caches, array_base(caches) + static_cast<std::uint64_t>(at.offset)};
    model::repeat(
        caches, at.passes, [&] { stride_loop(memory, at.size, at.stride, 1); }, &caches.progress);
    return at.accesses();
  }
  [[nodiscard]] std::string unsimulated() const override { return {}; }
};

} // namespace

const Kernel& stride_kernel() {
  static const StrideKernel kernel;
  return kernel;
}

// `visit`: follows pointers through places chosen one by one. See recount-kernels(7).

namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 24; // their order is held in memory

/// A point of `visit`, checked.
struct VisitPoint {
  Pattern pattern;
  std::int64_t passes = 0;
  [[nodiscard]] std::int64_t accesses() const { return pattern.visits() * passes; }
};

/// The pointers of a cycle must not overlap.
void check_distances(const Pattern& pattern) {
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

std::vector<Parameter> visit_parameters() {
  constexpr auto bytes = Parameter::Unit::bytes;
  constexpr std::int64_t max_bytes = std::int64_t{1} << 44;
  return {
      number_parameter("count", "elements", 16, 1, max_elements),
      number_parameter("stride", "bytes from one element to the next", 4096, 1, max_bytes, bytes),
      number_parameter("shift", "additional bytes per element within a group of wrap", 0, 0, max_bytes,
                       bytes),
      number_parameter("wrap", "elements per group; the shift restarts with each group", 1, 1, max_elements),
      number_parameter("pair", "visit each element again at this distance in bytes (0: once)", 0, 0,
                       max_bytes, bytes),
      choice_parameter("first", "place of a pair visited first", {"near", "far"}),
      number_parameter("passes", "passes through all elements", 1000, 1, max_elements),
      number_parameter("offset", "bytes from a page boundary to the first element", 0, 0, 4095, bytes),
      pages_parameter(),
      number_parameter("seed", "seed of the random order", 1, 0, max_elements)};
}

class VisitKernel : public BasicKernel {
public:
  VisitKernel()
      : BasicKernel(
            "visit",
            "follows pointers in random order through individually chosen places; each load depends on "
            "the previous one",
            visit_parameters()) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    const Pattern p = checked(point).pattern;
    return extent(p) + p.visits() * std::int64_t{2 * sizeof(std::uint64_t)}; // with the order, meanwhile
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    const VisitPoint at = checked(point);
    auto memory = std::make_unique<Memory>(extent(at.pattern), at.pattern.offset,
                                           at.pattern.huge ? Memory::Pages::huge : Memory::Pages::small,
                                           fmt::format("visit --count {}", at.pattern.count));
    const auto all = places(at.pattern);
    link(memory->data(), all);
    const native::Chase context{memory->data() + all.front(), at.accesses(), nullptr};
    return make_instance(native::recount_kernel_chase, context, at.accesses(), std::move(memory));
  }
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override {
    const VisitPoint at = checked(point);
    const auto all = places(at.pattern);
    const std::uint64_t base = array_base(caches) + static_cast<std::uint64_t>(at.pattern.offset);
    model::repeat(
        caches, at.passes, [&] { replay(all, base, 1, caches); }, &caches.progress);
    return at.accesses();
  }
  [[nodiscard]] std::string unsimulated() const override { return {}; }

private:
  [[nodiscard]] VisitPoint checked(const Params& given) const {
    const Params point = complete(*this, given);
    VisitPoint at{to_pattern(name(), point), number(point, "passes")};
    std::int64_t span = 0, total = 0;
    const Pattern& p = at.pattern;
    if (p.count > max_elements || __builtin_mul_overflow(p.count, p.stride, &span) ||
        __builtin_mul_overflow(p.wrap, p.shift, &total) || span > std::int64_t{1} << 46 ||
        total > std::int64_t{1} << 46)
      throw bad_input("visit --stride", "the elements span more than 64 TiB");
    if (__builtin_mul_overflow(p.visits(), at.passes, &total))
      throw bad_input("visit --passes", "the number of accesses exceeds 64 bits");
    check_distances(p);
    return at;
  }
};

} // namespace

const Kernel& visit_kernel() {
  static const VisitKernel kernel;
  return kernel;
}

} // namespace recount::kernel
