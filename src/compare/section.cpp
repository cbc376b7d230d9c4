#include "compare/compare.hpp"

namespace recount::compare {

document::Section compare_section() {
  return {"machines", [](const document::Material& material) {
            std::vector<document::Block> blocks;
            if (!several_nodes(material.results)) return blocks;
            const Comparison comparison = compare(material.results, {});
            if (comparison.quantities.empty()) return blocks;
            blocks = comparison_blocks(comparison, false);
            const document::Part all{"", false, document::unowned(material.results)};
            if (auto picture = material.gallery.add("nodes", all)) blocks.emplace_back(std::move(*picture));
            return document::under("Machines compared", std::move(blocks));
          }};
}

} // namespace recount::compare
