#include "check/section.hpp"

namespace recount::report {

Section check_section() {
  return {"presets", [](const Material& material) {
            std::vector<Block> blocks;
            for (const Part& part : material.parts)
              if (auto picture = material.gallery.add("agreement", part))
                blocks.emplace_back(std::move(*picture));
            return under("Validation of presets", std::move(blocks));
          }};
}

} // namespace recount::report
