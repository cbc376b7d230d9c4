// Patterns as points of the kernels chase and visit, and back.
#include "kernel/kernel.hpp"
#include "kernel/loops/pattern.hpp"
#include "kernel/point.hpp"
#include "recount/error.hpp"

#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::kernel {

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
