// recount-kernels(7) tells which kernel tests which preset and what blocks execute: as the tables have it.
#include "count/preset/standard.hpp"
#include "kernel/proofs.hpp"
#include "model/machine.hpp"
#include "recount/error.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_SUITE(page)

namespace {

std::string read_page() {
  std::ifstream page(RECOUNT_KERNELS_PAGE);
  BOOST_REQUIRE(page.good());
  std::ostringstream text;
  text << page.rdbuf();
  return text.str();
}

/// How well the count of a row is known, on a machine with three levels.
std::string knowledge(const std::string& preset, const kernel::ProofRow& row) {
  static const auto all = kernel::proofs(model::machine("i7-9700-l3"));
  for (const kernel::Proof& proof : all) {
    if (proof.preset != preset || proof.kernel->name() != row.kernel || proof.why != row.why) continue;
    for (const auto& known : proof.kernel->expected(proof.point))
      if (known.metric == preset) return known.below + known.above > known.value / 4 ? ", bounds" : "";
    return ", simulated";
  }
  return "";
}

/// Standard presets in PAPI's order, then what Linux counts.
std::vector<std::string> metrics_in_order(const std::map<std::string, std::string>& rows) {
  std::vector<std::string> names;
  for (const auto& standard : preset::standard_presets())
    if (rows.contains(std::string(standard.name))) names.emplace_back(standard.name);
  for (const auto& [name, text] : rows)
    if (!name.starts_with("PAPI_")) names.push_back(name);
  return names;
}

std::string proofs_as_mdoc() {
  std::map<std::string, std::string> rows;
  for (const kernel::ProofRow& row : kernel::proof_rows()) {
    std::istringstream presets(row.presets);
    for (std::string preset; presets >> preset;) {
      std::string& text = rows[preset];
      if (!text.empty()) text += ".br\n";
      text += std::string(row.kernel) + " " + row.point + knowledge(preset, row) + "\n";
    }
  }
  std::string all = ".Bl -tag -width \"PAPI_BR_INS\"\n";
  for (const std::string& name : metrics_in_order(rows))
    all += ".It " + name + "\n" + rows[name];
  return all + ".El\n";
}

std::string reasons_as_mdoc() {
  std::string all = ".Bl -tag -width \"PAPI_BR_INS\"\n";
  for (const kernel::Unprovable& row : kernel::unprovable_rows())
    all += std::string(".It ") + row.preset + "\n" + row.reason + "\n";
  return all + ".El\n";
}

/// One block as its table of assembly has it.
struct Written {
  std::string name, step;
};
#define RECOUNT_BLOCK(name, feature, before, step, after, ...) {#name, step},
const std::vector<Written> written_x86_64 = {
#include "kernel/blocks/blocks_x86_64.def"
};
const std::vector<Written> written_aarch64 = {
#include "kernel/blocks/blocks_aarch64.def"
};
#undef RECOUNT_BLOCK

/// A literal display of the steps, but for floating point: those differ by mnemonic and register only.
std::string steps_as_mdoc(const std::vector<Written>& blocks) {
  std::string all = ".Bd -literal -offset indent\n";
  for (const Written& block : blocks)
    if (!block.name.starts_with("float_"))
      all += block.name + std::string(22 - block.name.size(), ' ') + block.step + "\n";
  return all + ".Ed\n";
}

/// The page with the part between two marks replaced.
std::string with(std::string page, const std::string& mark, const std::string& text) {
  const std::string begin = ".\\\" " + mark + " begin\n", end = ".\\\" " + mark + " end\n";
  const auto from = page.find(begin), to = page.find(end);
  BOOST_REQUIRE((from != page.npos && to != page.npos && from < to));
  return page.replace(from + begin.size(), to - from - begin.size(), text);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_manual_tells_the_table_of_proofs) {
  const std::string page = read_page();
  std::string right = with(with(page, "proofs", proofs_as_mdoc()), "reasons", reasons_as_mdoc());
  right = with(right, "x86-64", steps_as_mdoc(written_x86_64));
  right = with(right, "aarch64", steps_as_mdoc(written_aarch64));
  if (std::getenv("RECOUNT_WRITE_PAGE") != nullptr) std::ofstream(RECOUNT_KERNELS_PAGE) << right;
  BOOST_TEST((page == right), "man/recount-kernels.7 differs from the table of proofs; RECOUNT_WRITE_PAGE=1 "
                              "meson test kernel writes it");
}

BOOST_AUTO_TEST_CASE(the_manual_explains_every_kernel_and_parameter) {
  const std::string page = read_page();
  for (const kernel::Kernel* k : kernel::all()) {
    BOOST_TEST((page.find("\n.Ss " + k->name() + "\n") != page.npos), k->name() << " has no section");
    for (const auto& parameter : k->parameters())
      BOOST_TEST((page.find("Fl -" + parameter.name) != page.npos), k->name() << " --" << parameter.name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
