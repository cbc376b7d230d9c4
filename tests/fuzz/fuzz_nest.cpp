// The parser of loop nests, the checks of a point and the generator: no text crashes them, overflows a number
// or takes long, and what is accepted can be recorded, written as C and changed in form.
#include "nest/definition.hpp"
#include "nest/generate.hpp"
#include "nest/transform.hpp"

#include <recount/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace {
using namespace recount;

void change(const nest::Point& written, unsigned choice) {
  const nest::Definition& definition = written.definition();
  const auto orders = nest::orders(definition, 4);
  const nest::Form form{orders[choice % orders.size()], choice % 3, choice % 5};
  auto changed = nest::transform(definition, form);
  const nest::Point point(std::make_shared<const nest::Definition>(std::move(changed.nest)),
                          written.setting());
  static_cast<void>(
      point.recorded(std::vector<std::uint64_t>(definition.arrays.size(), std::uint64_t{1} << 46)));
  static_cast<void>(nest::find_broken_dependence(written, point, changed.variables));
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
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
    if (point.estimate().most <
        1e7) { // counting is exact, which takes a while, also of loops that are often empty
      const nest::Work work = point.work();
      if (work.loads < 0 || work.stores < 0) __builtin_trap();
      if (size > 0) change(point, data[size - 1]);
    }
  } catch (const Error& error) {
    if (error.problem().subject.empty() || error.problem().fix.empty()) __builtin_trap();
  }
  return 0;
}
