#include "user_page.hpp"

namespace pmu {

void update_page(const Slot& slot, std::int32_t index) {
  static_cast<void>(slot);
  static_cast<void>(index);
}

} // namespace pmu
