#include "sample.hpp"

namespace pmu {

void Samples::take(Slot& slot, std::int32_t index) {
  static_cast<void>(slot);
  static_cast<void>(index);
}
void Samples::deliver() {}

} // namespace pmu
