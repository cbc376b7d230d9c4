#include "kernel/proof_rows.hpp"

namespace recount::kernel {

namespace {

// Counting starts and stops within some hundred instructions: against 180000 and more, under a thousandth.
constexpr double exact = 0.005, close = 0.05, rough = 0.2;

constexpr ProofRow rows[] = {
    {"PAPI_TOT_INS", "integer", "operation=add turns=10000", {}, exact, "18 instructions a turn"},
    {"PAPI_TOT_CYC", "integer", "operation=multiply turns=10000", {}, rough, "a chain that cannot run ahead"},
    {"PAPI_LD_INS PAPI_LST_INS", "transfer", "operation=load turns=10000", {}, close, "a load a step"},
    {"PAPI_SR_INS PAPI_LST_INS", "transfer", "operation=store turns=10000", {}, close, "a store a step"},
    {"PAPI_BR_INS PAPI_BR_CN PAPI_BR_TKN",
     "branch",
     "pattern=taken turns=10000",
     {},
     exact,
     "a taken branch a step"},
    {"PAPI_BR_NTK",
     "branch",
     "pattern=not-taken turns=10000",
     {},
     exact,
     "a branch a step that is not taken"},
    {"PAPI_BR_UCN", "branch", "pattern=unconditional turns=10000", {}, exact, "a jump a step"},
    {"PAPI_BR_MSP PAPI_BR_PRC", "branch", "pattern=random turns=16384", {}, close, "a coin a step"},
    {"PAPI_BR_PRC",
     "branch",
     "pattern=alternating turns=10000",
     {},
     close,
     "a pattern that any predictor learns"},
    {"perf::PAGE-FAULTS perf::MINOR-FAULTS",
     "faults",
     "pages=1000",
     {},
     0,
     "a thousand pages given back and touched"},
    {"PAPI_L1_DCM PAPI_L2_DCA",
     "chase",
     "stride=64 rounds=0 passes=20",
     {1, 8},
     rough,
     "eight times the first level, in an order that no prefetcher foresees"},
    {"PAPI_L1_DCH", "chase", "stride=64 rounds=0 passes=1000", {1, 0.5}, rough, "half of the first level"},
};

} // namespace

std::span<const ProofRow> proof_rows() {
  return rows;
}

} // namespace recount::kernel
