#include "kernel/proofs.hpp"

#include "base/names.hpp"
#include "model/metrics.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

namespace recount::kernel {

namespace {

/// Counts of presets at one point, as multiples of their counts at another one: for presets whose expected
/// counts have wide bounds.
struct RelationRow {
  const char *kernel, *point;           ///< as in ProofRow
  const char *base_kernel, *base_point; ///< the count here is the unit
  const char* presets;                  ///< separated by spaces
  double least, most;                   ///< of the multiple
  const char* why;
};

/// Presets whose expected counts at points of proofs of other presets are not compared with counts.
struct DoubtRow {
  const char* kernel;  ///< empty: any
  const char* choice;  ///< a value of one of its parameters; empty: any
  const char* presets; ///< separated by spaces; after a '-': all but these
  const char* why;
};

// Tolerances of correct counts. Counting starts and stops within some hundred instructions, less
// than a thousandth of these regions; caches may have a few additional accesses; prefetchers,
// page walkers and other threads add more.
constexpr double exact_count = 0.005, close_count = 0.05, rough_count = 0.2;

constexpr ProofRow proof_table[] = {
    // Instructions
    {"integer", "operation=add turns=10000", "PAPI_TOT_INS PAPI_INT_INS", exact_count,
     "one addition per step"},
    {"integer", "operation=nop turns=10000", "PAPI_TOT_INS PAPI_TOT_IIS", exact_count, "steps without work"},
    {"transfer", "operation=load turns=10000",
     "PAPI_LD_INS PAPI_LST_INS PAPI_L1_DCA PAPI_L1_DCR PAPI_L1_DCH PAPI_L1_TCA PAPI_L1_TCR PAPI_L1_TCH",
     exact_count, "one load per step, from one line"},
    {"transfer", "operation=store turns=10000", "PAPI_SR_INS PAPI_LST_INS PAPI_L1_DCW PAPI_L1_TCW",
     exact_count, "one store per step, to one line"},
    {"transfer", "operation=copy turns=10000", "PAPI_LST_INS PAPI_LD_INS PAPI_SR_INS", exact_count,
     "one load and one store per step"},
    {"transfer", "operation=update turns=10000", "PAPI_LD_INS PAPI_SR_INS PAPI_LST_INS", exact_count,
     "one read-modify-write per step: an instruction that loads and stores, where there is one"},
    {"integer", "operation=divide turns=1000", "PAPI_TOT_INS", exact_count, "one division per step"},
    {"sync", "operation=fence turns=1000", "PAPI_SYC_INS", exact_count, "one barrier per step"},
    {"sync", "operation=atomic turns=1000", "PAPI_SYC_INS", exact_count, "one atomic update per step"},
    // Branches
    {"branch", "pattern=taken turns=10000", "PAPI_BR_INS PAPI_BR_CN PAPI_BR_TKN", exact_count,
     "one taken branch per step"},
    {"branch", "pattern=not-taken turns=10000", "PAPI_BR_INS PAPI_BR_CN PAPI_BR_NTK", exact_count,
     "one branch per step, not taken"},
    {"branch", "pattern=unconditional turns=10000", "PAPI_BR_INS PAPI_BR_UCN", exact_count,
     "one jump per step"},
    {"branch", "pattern=indirect turns=10000", "PAPI_BR_INS PAPI_BR_UCN", exact_count,
     "one indirect jump per step"},
    {"branch", "pattern=call turns=10000", "PAPI_BR_INS PAPI_BR_UCN", exact_count,
     "one call and one return per step"},
    {"branch", "pattern=indirect-random turns=16384", "PAPI_BR_PRC", close_count,
     "random targets of indirect jumps: the conditional branches are predicted"},
    {"branch", "pattern=alternating turns=10000", "PAPI_BR_TKN PAPI_BR_NTK PAPI_BR_PRC", exact_count,
     "every other branch is taken: predictable"},
    {"branch", "pattern=random turns=16384", "PAPI_BR_MSP PAPI_BR_PRC", close_count,
     "one random branch per step: half are mispredicted"},
    {"code", "size=4194304 passes=4", "PAPI_BTAC_M", rough_count, "more jumps than BTB entries"},
    // Floating point
    {"float", "operation=add element=f64 turns=10000", "PAPI_FP_INS PAPI_FP_OPS PAPI_DP_OPS PAPI_FAD_INS",
     exact_count, "one scalar addition per step"},
    {"float", "operation=add element=f32 turns=10000", "PAPI_FP_INS PAPI_SP_OPS", exact_count,
     "one scalar addition per step, in single precision"},
    {"float", "operation=multiply element=f64 turns=10000", "PAPI_FP_INS PAPI_FML_INS", exact_count,
     "one scalar multiplication per step"},
    {"float", "operation=divide element=f64 turns=10000", "PAPI_FP_INS PAPI_FDV_INS", exact_count,
     "one scalar division per step"},
    {"float", "operation=root element=f64 turns=10000", "PAPI_FP_INS PAPI_FSQ_INS", exact_count,
     "one scalar square root per step"},
    {"float", "operation=fma element=f64 turns=10000", "PAPI_FMA_INS PAPI_DP_OPS", exact_count,
     "one scalar FMA per step, two operations each"},
    {"float", "operation=multiply element=f64 width=128 turns=10000", "PAPI_FML_INS PAPI_VEC_DP PAPI_DP_OPS",
     exact_count, "one vector multiplication per step"},
    {"float", "operation=divide element=f64 width=128 turns=10000", "PAPI_FDV_INS PAPI_VEC_DP PAPI_DP_OPS",
     exact_count, "one vector division per step"},
    {"float", "operation=root element=f64 width=128 turns=10000", "PAPI_FSQ_INS PAPI_VEC_DP PAPI_DP_OPS",
     exact_count, "one vector square root per step"},
    {"float", "operation=fma element=f32 turns=10000", "PAPI_FMA_INS PAPI_SP_OPS", exact_count,
     "one scalar FMA per step, in single precision"},
    {"float", "operation=fma element=f64 width=256 turns=10000", "PAPI_FMA_INS PAPI_DP_OPS", exact_count,
     "one vector of four FMAs per step"},
    {"float", "operation=fma element=f32 width=128 turns=10000", "PAPI_FMA_INS PAPI_SP_OPS", exact_count,
     "one vector of four FMAs per step, in single precision"},
    {"float", "operation=invert element=f32 turns=10000", "PAPI_FNV_INS", exact_count,
     "one approximate reciprocal per step"},
    {"float", "operation=add element=f64 width=128 turns=10000",
     "PAPI_VEC_INS PAPI_VEC_DP PAPI_DP_OPS PAPI_FAD_INS", exact_count, "one vector of two doubles per step"},
    {"float", "operation=add element=f32 width=128 turns=10000", "PAPI_VEC_INS PAPI_VEC_SP PAPI_SP_OPS",
     exact_count, "one vector of four floats per step"},
    {"float", "operation=add element=f16 width=128 turns=10000", "PAPI_VEC_HP PAPI_HP_OPS", exact_count,
     "one vector of eight half-precision numbers per step"},
    {"float", "operation=add element=f64 width=256 turns=10000", "PAPI_VEC_DP PAPI_DP_OPS", exact_count,
     "one vector of four doubles per step"},
    {"float", "operation=add element=f32 width=256 turns=10000", "PAPI_VEC_SP PAPI_SP_OPS", exact_count,
     "one vector of eight floats per step"},
    {"float", "operation=add element=f64 width=512 turns=10000", "PAPI_VEC_DP PAPI_DP_OPS", exact_count,
     "one vector of eight doubles per step"},
    {"float", "operation=add element=f32 width=512 turns=10000", "PAPI_VEC_SP PAPI_SP_OPS", exact_count,
     "one vector of sixteen floats per step"},
    {"float", "operation=fma element=f64 width=512 turns=10000", "PAPI_VEC_DP PAPI_DP_OPS", exact_count,
     "one vector of eight FMAs per step"},
    // Cycles
    {"integer", "operation=multiply turns=10000",
     "PAPI_TOT_CYC PAPI_REF_CYC PAPI_BRU_IDL PAPI_FPU_IDL PAPI_LSU_IDL PAPI_STL_ICY PAPI_STL_CCY "
     "PAPI_RES_STL",
     close_count, "a chain of multiplications; other units are idle"},
    {"integer", "operation=nop turns=10000", "PAPI_FUL_ICY PAPI_FUL_CCY", close_count,
     "as many instructions per cycle as the processor issues"},
    {"float", "operation=divide element=f64 turns=10000", "PAPI_FP_STAL", close_count,
     "a chain of divisions"},
    {"chase", "size=16777216 stride=256 rounds=0 passes=4",
     "PAPI_MEM_SCY PAPI_MEM_RCY PAPI_STL_ICY PAPI_STL_CCY PAPI_FXU_IDL", close_count,
     "a chain of loads from memory, no other work"},
    {"scatter", "operation=store size=16777216 stride=64 passes=1", "PAPI_MEM_WCY", close_count,
     "stores to lines in memory, faster than the lines arrive"},
    // Data caches: a line flushed before each access misses every level, whatever their sizes.
    {"evict", "operation=load turns=1000",
     "PAPI_L1_DCM PAPI_L1_LDM PAPI_L1_TCM PAPI_L2_DCM PAPI_L2_LDM PAPI_L2_TCM PAPI_L2_DCA PAPI_L2_DCR "
     "PAPI_L2_TCA "
     "PAPI_L2_TCR PAPI_L3_DCM PAPI_L3_LDM PAPI_L3_TCM PAPI_L3_DCA PAPI_L3_DCR PAPI_L3_TCA PAPI_L3_TCR",
     rough_count, "a line flushed before each load misses every cache"},
    {"evict", "operation=store turns=1000",
     "PAPI_L1_STM PAPI_L2_STM PAPI_L2_DCW PAPI_L2_TCW PAPI_L3_STM PAPI_L3_DCW PAPI_L3_TCW", rough_count,
     "a line flushed before each store misses every cache"},
    {"evict", "operation=prefetch turns=1000", "PAPI_PRF_DM", rough_count,
     "a line flushed before each prefetch misses every cache"},
    {"chase", "size=4*@1 stride=64 rounds=0 passes=20",
     "PAPI_L1_DCM PAPI_L1_LDM PAPI_L1_TCM PAPI_L2_DCA PAPI_L2_DCR PAPI_L2_DCH PAPI_L2_TCA PAPI_L2_TCR "
     "PAPI_L2_TCH",
     rough_count, "four times L1, in random order"},
    {"chase", "size=0.5*@1 stride=64 rounds=0 passes=1000", "PAPI_L1_DCA PAPI_L1_DCR PAPI_L1_DCH",
     close_count, "half of L1"},
    {"scatter", "operation=store size=1048576 stride=64 passes=4", "PAPI_L1_STM PAPI_L2_DCW PAPI_L2_TCW",
     rough_count, "stores to more lines than fit in L1, in random order"},
    {"scatter", "operation=store size=0.5*@2 stride=64 passes=16", "PAPI_L1_STM PAPI_L2_DCW PAPI_L2_TCW",
     rough_count, "stores to half of L2, in random order"},
    {"chase", "size=4*@2 stride=128 rounds=0 passes=4",
     "PAPI_L2_DCM PAPI_L2_LDM PAPI_L2_TCM PAPI_L3_DCA PAPI_L3_DCR PAPI_L3_DCH PAPI_L3_TCA PAPI_L3_TCR "
     "PAPI_L3_TCH",
     rough_count, "four times L2, fits in L3, in random order"},
    // Instruction caches
    {"code", "size=16384 fill=full passes=100", "PAPI_L1_ICH PAPI_L1_ICA PAPI_L1_ICR", close_count,
     "lines of code that fit in L1i, with too many instructions for the decoded-instruction cache"},
    {"code", "size=524288 passes=20", "PAPI_L1_ICM PAPI_L1_ICA PAPI_L1_ICR PAPI_L2_ICA PAPI_L2_ICR",
     rough_count, "more lines of code than fit in L1i, in random order"},
    {"code", "size=4*@1 l1i=@1 l2=@2 passes=40", "PAPI_L2_ICH PAPI_L1_ICM PAPI_L2_ICA PAPI_L2_ICR",
     close_count, "code of four times L1, fits in L2"},
    {"code", "size=2*@2 l1i=@1 l2=@2 passes=10", "PAPI_L2_ICM PAPI_L3_ICA PAPI_L3_ICR", close_count,
     "code of twice L2"},
    {"code", "size=3*@2 l1i=@1 l2=@2 l3=@3 passes=4", "PAPI_L3_ICH", close_count,
     "code of three times L2, fits in L3"},
    {"code", "size=2*@3 l1i=@1 l2=@2 l3=@3 passes=1", "PAPI_L3_ICM", close_count, "code of twice L3"},
    // Translations
    {"chase", "size=68157440 stride=4160 rounds=0 passes=1", "PAPI_TLB_DM PAPI_TLB_TL", rough_count,
     "a load in each of 16384 pages"},
    {"scatter", "operation=store size=67108864 stride=4096 passes=1", "PAPI_TLB_DM PAPI_TLB_TL", rough_count,
     "a store to each of 16384 pages"},
    {"code", "size=68157440 stride=4160 passes=1", "PAPI_TLB_IM", rough_count,
     "a jump in each of 16384 pages"},
    {"shootdowns", "rounds=1000", "PAPI_TLB_SD", rough_count,
     "permission revoked for a page in use by another CPU"},
    // Other CPUs and interrupts
    {"sharing", "rounds=1000", "PAPI_CA_SNP PAPI_CA_SHR PAPI_CA_CLN PAPI_CA_INV PAPI_CA_ITV", rough_count,
     "a line written alternately by two CPUs"},
    {"interrupts", "signals=50", "PAPI_HW_INT", rough_count, "timer interrupts"},
    {"sync", "operation=conditional turns=1000", "PAPI_CSR_SUC PAPI_CSR_TOT", close_count,
     "one store-conditional per step, with reservation"},
    {"sync", "operation=refused turns=1000", "PAPI_CSR_FAL PAPI_CSR_TOT", close_count,
     "one store-conditional per step, reservation cleared"},
    // Software events, on any machine
    {"faults", "pages=1000", "perf::PAGE-FAULTS perf::MINOR-FAULTS", 0, "pages released and touched again"},
    {"switches", "sleeps=200", "perf::CONTEXT-SWITCHES", 0, "one context switch per sleep"},
    {"migrations", "moves=200", "perf::CPU-MIGRATIONS", 0, "migrations to another CPU and back"},
    {"ticks", "ticks=400000", "msr/tsc/", close_count, "ticks of the time stamp counter"},
    {"cell", "operation=store turns=100", "mem:0x200000000000/8:w", 0, "stores to one address"},
    {"cell", "operation=load turns=100", "mem:0x200000000000/8:rw", 0, "loads from one address"},
};

/// Presets that count time or follow the hardware's own pace: bounds alone tell little of them.
constexpr const char* of_cycles = "PAPI_TOT_CYC PAPI_REF_CYC";
constexpr const char* of_chains = "PAPI_TOT_CYC PAPI_REF_CYC PAPI_STL_ICY PAPI_STL_CCY PAPI_RES_STL "
                                  "PAPI_BRU_IDL PAPI_FPU_IDL PAPI_LSU_IDL";
constexpr const char* multiplications = "operation=multiply turns=10000";

constexpr RelationRow relation_table[] = {
    {"integer", multiplications, "integer", "operation=nop turns=10000", of_cycles, 1.5, 200,
     "dependent multiplications take more cycles than as many independent instructions"},
    {"integer", "operation=multiply turns=20000", "integer", multiplications, of_chains, 1.8, 2.2,
     "twice the work"},
    {"integer", "operation=nop turns=20000", "integer", "operation=nop turns=10000",
     "PAPI_FUL_ICY PAPI_FUL_CCY", 1.8, 2.2, "twice the work"},
    {"float", "operation=divide element=f64 turns=20000", "float", "operation=divide element=f64 turns=10000",
     "PAPI_FP_STAL", 1.8, 2.2, "twice the work"},
    {"chase", "size=16777216 stride=256 rounds=0 passes=8", "chase",
     "size=16777216 stride=256 rounds=0 passes=4", "PAPI_MEM_SCY PAPI_MEM_RCY PAPI_FXU_IDL", 1.5, 2.7,
     "twice the work"},
    {"scatter", "operation=store size=16777216 stride=64 passes=2", "scatter",
     "operation=store size=16777216 stride=64 passes=1", "PAPI_MEM_WCY", 1.5, 2.7, "twice the work"},
    {"sharing", "rounds=2000", "sharing", "rounds=1000",
     "PAPI_CA_SNP PAPI_CA_SHR PAPI_CA_CLN PAPI_CA_INV PAPI_CA_ITV", 1.3, 3, "twice the work"},
    {"shootdowns", "rounds=2000", "shootdowns", "rounds=1000", "PAPI_TLB_SD", 1.3, 3, "twice the work"},
    {"chase", "size=66560 stride=4160 rounds=0 passes=1000", "chase",
     "size=2129920 stride=4160 rounds=0 passes=1000", "PAPI_TLB_DM PAPI_TLB_TL", 0, 0.5,
     "a working set of 16 pages, against 512"},
    {"code", "size=66560 stride=4160 passes=1000", "code", "size=2129920 stride=4160 passes=1000",
     "PAPI_TLB_IM PAPI_TLB_TL", 0, 0.5, "a working set of 16 pages, against 512"},
};

/// Expectations at points of the table above that are no test of a correct counter.
constexpr DoubtRow doubt_table[] = {
    {"branch", "random",
     "-PAPI_BR_INS PAPI_BR_CN PAPI_BR_TKN PAPI_BR_NTK PAPI_BR_UCN PAPI_BR_MSP PAPI_BR_PRC",
     "wrong paths are executed, which some events count"},
    {"branch", "indirect-random",
     "-PAPI_BR_INS PAPI_BR_CN PAPI_BR_TKN PAPI_BR_NTK PAPI_BR_UCN PAPI_BR_MSP PAPI_BR_PRC",
     "wrong paths are executed, which some events count"},
    {"evict", "",
     "PAPI_LD_INS PAPI_SR_INS PAPI_LST_INS PAPI_TOT_IIS PAPI_SYC_INS PAPI_L1_DCA PAPI_L1_DCR PAPI_L1_DCW "
     "PAPI_L1_DCH PAPI_L1_TCA PAPI_L1_TCR PAPI_L1_TCW PAPI_L1_TCH",
     "flushing a line may count as an access"},
    {"sync", "",
     "PAPI_LD_INS PAPI_SR_INS PAPI_LST_INS PAPI_TOT_IIS PAPI_L1_DCA PAPI_L1_DCR PAPI_L1_DCW PAPI_L1_DCH "
     "PAPI_L1_TCA PAPI_L1_TCR PAPI_L1_TCW PAPI_L1_TCH",
     "a barrier or an atomic update may count as an access, or be several operations"},
    {"sync", "atomic", "PAPI_TOT_IIS", "several operations"},
    {"transfer", "update", "PAPI_L1_DCA PAPI_L1_DCR PAPI_L1_DCH PAPI_L1_TCA PAPI_L1_TCR PAPI_L1_TCH",
     "a load and a store to one place may be one access"},
    {"float", "invert",
     "PAPI_FP_INS PAPI_FP_OPS PAPI_HP_OPS PAPI_SP_OPS PAPI_DP_OPS PAPI_VEC_INS PAPI_VEC_SP",
     "an approximation may not count as arithmetic"},
    {"", "", "PAPI_INT_INS PAPI_BTAC_M PAPI_HW_INT", "what counts is up to the processor"},
};

const Unprovable no_proofs[] = {
    {"PAPI_L1_ICW", "programs cannot write to L1i; a modified line is fetched as a miss"},
    {"PAPI_L2_ICW", "instructions are only read; every store is a data write"},
    {"PAPI_L3_ICW", "instructions are only read; every store is a data write"},
    {"PAPI_CSR_FAL", "some architectures, such as x86-64, have no conditional stores"},
    {"PAPI_CSR_SUC", "some architectures, such as x86-64, have no conditional stores"},
    {"PAPI_CSR_TOT", "some architectures, such as x86-64, have no conditional stores"},
};

/// Points that no preset needs to be distinguished from another one, but that events without a preset need.
constexpr DoubtRow kept_table[] = {
    {"branch", "indirect-random", "PAPI_BR_MSP", "mispredicted jumps that are not conditional"},
    {"float", "scalar", "PAPI_VEC_SP", "scalar operations, of which rows of older CPUs count some"},
    {"evict", "prefetch",
     "PAPI_L1_DCM PAPI_L1_TCM PAPI_L1_LDM PAPI_L2_DCM PAPI_L2_TCM PAPI_L2_LDM PAPI_L3_DCM PAPI_L3_TCM "
     "PAPI_L3_LDM",
     "prefetches, which may count as one miss each, but not as two"},
};

using MaybeMachine = std::optional<model::MachineDescription>;

std::vector<std::string> words_in(const char* text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Whether a kernel accepts this size.
bool takes_value(const Kernel& kernel, const std::string& name, std::int64_t value) {
  const auto parameters = kernel.parameters();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found != parameters.end() && value >= found->least && (found->most == 0 || value <= found->most);
}

/// "@2", "0.5*@2": bytes, a whole number of lines. Nothing where the machine has no such level.
std::optional<std::int64_t> scaled_size(const std::string& text, const MaybeMachine& machine) {
  const auto at = text.find('@');
  const auto level = static_cast<std::size_t>(std::stoi(text.substr(at + 1)));
  const double times = at == 0 ? 1 : std::stod(text.substr(0, at - 1));
  if (!machine || machine->levels.size() < level) return std::nullopt;
  const auto& cache = machine->levels[level - 1];
  return static_cast<std::int64_t>(times * static_cast<double>(cache.size)) / cache.line * cache.line;
}

/// Nothing where the machine has no such level, or the kernel does not take its size.
std::optional<result::ParamValue> parse_value(const std::string& text, const std::string& name,
                                              const Kernel& kernel, const MaybeMachine& machine) {
  if (text.find('@') != text.npos) {
    const auto size = scaled_size(text, machine);
    if (!size || !takes_value(kernel, name, *size)) return std::nullopt;
    return *size;
  }
  const auto parameters = kernel.parameters();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  if (found != parameters.end() && found->unit == Parameter::Unit::choice) return text;
  return std::int64_t{std::stoll(text)};
}

std::optional<result::Params> parse_proof_point(const char* text, const Kernel& kernel,
                                                const MaybeMachine& machine) {
  result::Params point;
  for (const std::string& word : words_in(text)) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto value = parse_value(word.substr(equals + 1), name, kernel, machine);
    if (!value) return std::nullopt;
    point[name] = *value;
  }
  return complete(kernel, point);
}

/// Whether this architecture has the instructions of a valid row.
bool exists_here(const Kernel& kernel, const result::Params& point) {
  try {
    return kernel.bytes(point) > 0;
  } catch (const Error&) {
    return false;
  }
}

/// Whether the model of this machine, whose instruction caches are not described, simulates the kernel.
bool simulates(const Kernel& kernel) {
  return kernel.unsimulated().empty() && !kernel.fetches();
}

/// Whether the kernel has an expected count of the preset at this point on this machine.
bool answers(const Kernel& kernel, const std::vector<Expectation>& known, const std::string& preset,
             const std::vector<std::string>& simulated) {
  const auto states = [&](const Expectation& e) { return e.metric == preset; };
  if (std::ranges::find_if(known, states) != known.end()) return true;
  return simulates(kernel) && std::ranges::find(simulated, preset) != simulated.end();
}

/// Whether "A B C" names the preset, or "-A B C" does not.
bool names(const char* presets, const std::string& preset) {
  const bool all_but = *presets == '-';
  const auto words = words_in(presets + (all_but ? 1 : 0));
  return (std::ranges::find(words, preset) != words.end()) != all_but;
}

/// Whether a row of the table concerns the preset there.
bool listed(std::span<const DoubtRow> rows, const std::string& preset, const Kernel& kernel,
            const result::Params& point) {
  return std::ranges::any_of(rows, [&](const DoubtRow& row) {
    const std::string of = row.kernel, choice = row.choice;
    const auto chosen = [&](const auto& parameter) {
      const auto* const value = std::get_if<std::string>(&parameter.second);
      return value && *value == choice;
    };
    return (of.empty() || of == kernel.name()) && (choice.empty() || std::ranges::any_of(point, chosen)) &&
           names(row.presets, preset);
  });
}

/// Chooses the points that tell a preset from others, of many that state it.
class Distinction {
public:
  /// What else a count could be: each preset, times each factor.
  static constexpr std::array factors{1.0, 2.0, 4.0, 8.0, 0.5, 0.25, 0.125};
  static constexpr std::size_t most_presets = 160;
  using Others = std::bitset<most_presets * factors.size()>;
  /// Times that each other one is excluded, where points allow.
  static constexpr int enough = 2;

  /// Which others the point excludes; none where the kernel does not state the preset.
  [[nodiscard]] std::optional<Others> excluded(const Proof& by) {
    const auto& all = stated(by);
    const auto own = std::ranges::find(all, by.preset, &Expectation::metric);
    if (own == all.end()) return {};
    constexpr double stray = 64;
    const double margin = std::max(by.tolerance * own->value, stray);
    const double low = own->value - own->below - margin, high = own->value + own->above + margin;
    Others others;
    for (const Expectation& other : all) {
      const std::size_t at = index_of(other.metric) * factors.size();
      for (std::size_t f = 0; f < factors.size() && at + f < others.size(); ++f)
        if (factors[f] * (other.value + other.above) < low || factors[f] * (other.value - other.below) > high)
          others.set(at + f);
    }
    return others;
  }

  /// Those of `candidates`, all of one preset, that exclude more than `given` do; greedily, the best first.
  [[nodiscard]] std::vector<Proof> choose(const std::vector<Proof>& given, std::vector<Proof> candidates) {
    std::array<int, Others().size()> times{};
    const auto count = [&](const Others& others) {
      for (std::size_t i = 0; i < others.size(); ++i)
        times[i] += others[i] ? 1 : 0;
    };
    for (const Proof& one : given)
      if (const auto others = excluded(one)) count(*others);
    std::vector<Proof> chosen;
    std::vector<std::pair<Proof, Others>> rest;
    for (Proof& one : candidates) {
      if (const auto others = excluded(one))
        rest.emplace_back(std::move(one), *others);
      else
        chosen.push_back(std::move(one)); // simulated: known to nobody but the model
    }
    while (!rest.empty()) {
      Others wanted;
      for (std::size_t i = 0; i < times.size(); ++i)
        wanted.set(i, times[i] < enough);
      const auto best =
          std::ranges::max_element(rest, {}, [&](const auto& one) { return (one.second & wanted).count(); });
      if ((best->second & wanted).none()) break;
      count(best->second);
      chosen.push_back(std::move(best->first));
      rest.erase(best);
    }
    return chosen;
  }

private:
  const std::vector<Expectation>& stated(const Proof& at) {
    const auto [known, fresh] = stated_.try_emplace({at.kernel, at.point});
    if (fresh) known->second = at.kernel->expected(at.point);
    return known->second;
  }
  std::size_t index_of(const std::string& preset) {
    return indices_.try_emplace(preset, indices_.size()).first->second;
  }

  std::map<std::pair<const Kernel*, result::Params>, std::vector<Expectation>> stated_;
  std::map<std::string, std::size_t> indices_;
};

std::map<std::string, std::vector<Proof>> by_preset(const std::vector<Proof>& all) {
  std::map<std::string, std::vector<Proof>> sorted;
  for (const Proof& one : all)
    sorted[one.preset].push_back(one);
  return sorted;
}

} // namespace

std::vector<Proof> proofs(const std::optional<model::MachineDescription>& machine) {
  const auto simulated = machine ? model::metric_names(*machine) : std::vector<std::string>{};
  std::vector<Proof> all;
  for (const ProofRow& row : proof_table) {
    const std::string name = row.kernel;
    const Kernel& kernel = find(name);
    const auto point = parse_proof_point(row.point, kernel, machine);
    if (!point || !exists_here(kernel, *point)) continue;
    const auto known = kernel.expected(*point);
    for (const std::string& preset : words_in(row.presets))
      if (answers(kernel, known, preset, simulated))
        all.push_back({preset, &kernel, *point, row.tolerance, row.why});
  }
  return all;
}

std::vector<Proof> beside(const MaybeMachine& machine) {
  const auto proven = proofs(machine);
  const auto simulated = machine ? model::metric_names(*machine) : std::vector<std::string>{};
  std::vector<Proof> all, kept;
  const auto add = [&](const ProofRow& row, const Kernel& kernel, const result::Params& point,
                       const std::string& preset) {
    const auto same = [&](const Proof& other) {
      return other.preset == preset && other.kernel == &kernel && other.point == point;
    };
    if (std::ranges::find(proven, preset, &Proof::preset) == proven.end()) return;
    if (std::ranges::any_of(proven, same) || std::ranges::any_of(all, same) ||
        std::ranges::any_of(kept, same))
      return;
    if (listed(doubt_table, preset, kernel, point)) return; // a correct counter may count something else
    if (listed(kept_table, preset, kernel, point))
      kept.push_back({preset, &kernel, point, row.tolerance, row.why});
    else
      all.push_back({preset, &kernel, point, row.tolerance, row.why});
  };
  for (const ProofRow& row : proof_table) {
    const Kernel& kernel = find(row.kernel);
    const auto point = parse_proof_point(row.point, kernel, machine);
    if (!point || !exists_here(kernel, *point)) continue;
    for (const Expectation& one : kernel.expected(*point))
      if (is_preset(one.metric)) add(row, kernel, *point, one.metric);
    // Larger arrays are walked by page walkers, whose reads the model does not know.
    const bool sized = std::string_view(row.point).find('@') != std::string_view::npos;
    if (sized && simulates(kernel))
      for (const std::string& preset : simulated)
        if (preset.starts_with("PAPI_L")) add(row, kernel, *point, preset);
  }
  Distinction distinction;
  auto given = by_preset(proven);
  for (const Proof& one : kept)
    given[one.preset].push_back(one);
  std::vector<Proof> chosen = kept;
  for (auto& [preset, candidates] : by_preset(all))
    for (Proof& one : distinction.choose(given[preset], candidates))
      chosen.push_back(std::move(one));
  return chosen;
}

std::vector<Relation> relations(const MaybeMachine& machine) {
  std::vector<Relation> all;
  for (const RelationRow& row : relation_table) {
    const Kernel &kernel = find(row.kernel), &base = find(row.base_kernel);
    const auto point = parse_proof_point(row.point, kernel, machine),
               base_point = parse_proof_point(row.base_point, base, machine);
    if (!point || !base_point || !exists_here(kernel, *point) || !exists_here(base, *base_point)) continue;
    for (const std::string& preset : words_in(row.presets))
      all.push_back({preset, &kernel, *point, &base, *base_point, row.least, row.most, row.why});
  }
  return all;
}

std::span<const Unprovable> unprovable() {
  static const std::vector<Unprovable> all = [] {
    const auto proven = proofs(model::machine("i7-9700-l3")); // any machine with three levels will do
    std::vector<Unprovable> list;
    const auto add = [&](const std::string& preset, const std::string& reason) {
      if (std::ranges::find(proven, preset, &Proof::preset) == proven.end() &&
          std::ranges::find(list, preset, &Unprovable::preset) == list.end())
        list.push_back({preset, reason});
    };
    for (const Unprovable& row : no_proofs)
      add(row.preset, row.reason);
    for (const ProofRow& row : proof_table) {
      for (const std::string& preset : words_in(row.presets))
        if (is_preset(preset)) add(preset, "its kernel is written in assembly, for x86-64 and aarch64 only");
    }
    return list;
  }();
  return all;
}

std::span<const ProofRow> proof_rows() {
  return proof_table;
}

std::span<const Unprovable> unprovable_rows() {
  return no_proofs;
}

} // namespace recount::kernel
