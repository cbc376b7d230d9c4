#include "check/section.hpp"

namespace recount::check {

document::Section check_section() {
  return {"presets", [](const document::Material& material) {
            std::vector<document::Block> blocks;
            for (const document::Part& part : material.parts)
              if (auto picture = material.gallery.add("agreement", part))
                blocks.emplace_back(std::move(*picture));
            return document::under("Validation of presets", std::move(blocks));
          }};
}

} // namespace recount::check
