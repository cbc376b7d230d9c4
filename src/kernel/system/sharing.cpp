// `sharing`: two CPUs write one line in turn. See recount-kernels(7).
#include "kernel/blocks/helper.hpp"
#include "kernel/provoked.hpp"
#include "kernel/system/cpus.hpp"
#include "kernel/system/native_share.hpp"

namespace recount::kernel {

namespace {

class SharingInstance : public Instance {
public:
  explicit SharingInstance(std::int64_t rounds)
      : helper_(cpus_.other(), native::recount_kernel_share_back, &context_) {
    context_ = {&turn_, helper_.awake(), rounds};
  }
  Region region() override { return {native::recount_kernel_share, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.rounds; }

private:
  TwoCpus cpus_{"sharing"};
  alignas(128) volatile std::int64_t turn_ = 0; // alone on its line and on the adjacent line
  alignas(128) native::Share context_;
  Helper helper_;
};

std::vector<Expectation> expected_sharing(double n) {
  const char* form = "1 per round; more where a line is read while the other CPU writes it";
  std::vector<Expectation> all;
  for (const char* preset : {"PAPI_CA_SNP", "PAPI_CA_SHR", "PAPI_CA_CLN", "PAPI_CA_INV", "PAPI_CA_ITV"})
    all.push_back(between(preset, n / 2, 16 * n, form));
  return all;
}

} // namespace

Provoked sharing() {
  return {"sharing", "writes one line alternately with a thread on another CPU",
          number_parameter("rounds", "rounds of one write on each CPU", 1000, 1, std::int64_t{1} << 40),
          expected_sharing,
          [](std::int64_t n) -> std::unique_ptr<Instance> { return std::make_unique<SharingInstance>(n); }};
}

} // namespace recount::kernel
