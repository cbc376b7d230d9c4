#include "kernel/loops/pattern.hpp"

#include "base/random.hpp"
#include "kernel/kernel.hpp"
#include "kernel/loops/loop_bodies.hpp"
#include "kernel/point.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
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
  for (std::int64_t i = 0; i < p.count; ++i)
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

std::vector<std::int64_t> slots_of(const std::string& list) {
  std::vector<std::int64_t> slots;
  const char *at = list.data(), *const end = at + list.size();
  while (at != end) {
    std::int64_t slot = 0;
    const auto [next, error] = std::from_chars(at, end, slot);
    if (error != std::errc() || slot < 0 || (next != end && *next != ','))
      throw bad_input("slots " + list, "is not a list of integers");
    slots.push_back(slot);
    at = next == end ? end : next + 1;
  }
  return slots;
}

} // namespace

PatternPoint to_point(const Pattern& p, std::int64_t passes) {
  result::Params params{{"stride", p.stride},
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

Pattern to_pattern(const std::string& name, const result::Params& given) {
  result::Params params = given;
  Pattern p;
  if (const auto slots = params.find("slots"); name == "visit" && slots != params.end()) {
    if (const auto* list = std::get_if<std::string>(&slots->second)) p.slots = slots_of(*list);
    params.erase(slots);
  }
  if (name != "visit" && name != "chase") throw bad_input(name, "is not a pointer-chasing kernel");
  const result::Params point = complete(find(name), params);
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

} // namespace recount::kernel
