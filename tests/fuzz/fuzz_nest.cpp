// The parser of loop nests, the checks of a point and the generator: no text crashes them, overflows a number
// or takes long, and what is accepted can be recorded and written as C.
#include "nest/generate.hpp"
#include "nest/point.hpp"

#include <recount/error.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace recount;
  try {
    const auto nest = nest::parse("fuzz.nest", {reinterpret_cast<const char*>(data), size});
    nest::Setting setting;
    setting.offset = 16;
    for (const auto& p : nest.parameters)
      setting.parameters.push_back(p.fallback);
    for (const auto& p : nest.types)
      setting.types.push_back(p.choices.front());
    const nest::Point point(nest, setting);
    static_cast<void>(point.recorded(std::vector<std::uint64_t>(nest.arrays.size(), std::uint64_t{1} << 46)));
    if (nest::generate(nest, setting.types).empty()) __builtin_trap();
    if (point.estimate().accesses < 0 || point.bytes() < 1) __builtin_trap();
    if (point.estimate().accesses < 1e6) { // counting is exact, which takes a while
      const nest::Work work = point.work();
      if (work.loads < 0 || work.stores < 0) __builtin_trap();
    }
  } catch (const Error& error) {
    if (error.problem().subject.empty() || error.problem().remedy.empty()) __builtin_trap();
  }
  return 0;
}
