#include "kernel/nest/nest_kernel.hpp"

#include "base/random.hpp"
#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "kernel/point.hpp"
#include "model/hierarchy.hpp"
#include "model/nest_simulation.hpp"
#include "nest/definition.hpp"
#include "nest/generate.hpp"
#include "nest/transform.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

namespace recount::kernel {

namespace {

/// Instructions of the stack that a compiler may add: registers saved and restored per call, and loop
/// variables, bounds and pointers that do not fit the registers per turn of a loop that holds loops.
constexpr double stack_per_call = 40, stack_per_turn = 12;
constexpr std::size_t most_exchanged = 5; ///< loops: 120 orders

/// Not zero: a nest may divide by its elements.
template <class T>
void fill(std::byte* data, std::int64_t bytes, std::int64_t factor) {
  auto* const element = reinterpret_cast<T*>(data);
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(T)); ++i)
    element[i] = static_cast<T>(1 + i % 7 * factor % 7);
}

void fill(nest::Type type, std::byte* data, std::int64_t bytes, std::int64_t factor) {
  switch (type) {
  case nest::Type::f64: return fill<double>(data, bytes, factor);
  case nest::Type::f32: return fill<float>(data, bytes, factor);
  case nest::Type::i64: return fill<std::int64_t>(data, bytes, factor);
  case nest::Type::i32: return fill<std::int32_t>(data, bytes, factor);
  case nest::Type::i16: return fill<std::int16_t>(data, bytes, factor);
  case nest::Type::i8: return fill<std::int8_t>(data, bytes, factor);
  }
}

/// The nest compiled, and its arrays in memory, which hold small whole numbers from 1 on. Throws
/// recount::Error: bad_input for more memory than is available, unavailable where nothing can be compiled.
class NestInstance : public Instance {
public:
  NestInstance(const nest::Point& point, Memory::Pages pages)
      : code_(generate(point.definition(), point.setting().types)),
        memory_(point.bytes(), point.setting().offset, pages, "nest --file " + point.definition().file) {
    const auto& given = point.setting().parameters;
    std::copy(given.begin(), given.end(), context_.parameters.begin());
    for (std::size_t a = 0; a < point.arrays().size(); ++a) {
      const auto& array = point.arrays()[a];
      std::byte* const data = memory_.data() + array.begin;
      context_.arrays[a] = data;
      std::copy(array.strides.begin(), array.strides.end(), context_.strides[a].begin());
      fill(array.type, data, array.bytes, static_cast<std::int64_t>(2 * a % 6 + 1));
    }
    const nest::Work work = point.work();
    accesses_ = work.loads + work.stores;
  }
  Region region() override { return {code_.function(), &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return accesses_; }
  [[nodiscard]] Placement placement() const override { return memory_.placement(); }

private:
  nest::CompiledNest code_;
  Memory memory_;
  nest::Context context_;
  std::int64_t accesses_ = 0;
};

std::string read_nest(const std::string& file) {
  std::error_code none;
  const auto status = std::filesystem::status(file, none);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw bad_input("--file " + file, "is not a regular file, and each run reads it",
                    "write the nest to a file");
  if (std::filesystem::file_size(file, none) > nest::most_bytes && !none)
    throw bad_input("--file " + file, fmt::format("has more than {} bytes", nest::most_bytes));
  if (auto text = base::read_file(file)) return *std::move(text);
  throw bad_input("--file " + file, std::strerror(errno),
                  "name a file in the format of recount-nest(5), which lists examples");
}

} // namespace

NestKernel::NestKernel(const std::string& file, const std::string& digest,
                       std::unique_ptr<const nest::Definition> nest)
    : BasicKernel(
          "nest", "executes a loop nest that is written as text",
          {text_parameter(
               "file", "the nest, in the format of recount-nest(5); its parameters are options, too", file),
           text_parameter("digest", "of the text of the file; filled in by recount", digest),
           number_parameter("offset",
                            "bytes from a page boundary to the first element of each array, a multiple of it",
                            16, 0, 4095, Parameter::Unit::bytes),
           pages_parameter(),
           number_parameter("tile", "iterations per block of the exchangeable loops; 0: no blocks", 0, 0,
                            1 << 20),
           number_parameter("padding", "unused elements behind each row of the arrays", 0, 0, 1 << 20)}),
      nest_(std::move(nest)) {}

NestKernel::NestKernel() : NestKernel("", "", nullptr) {}

/// The written form or another one.
nest::Point NestKernel::formed(nest::Setting setting, const nest::Form& form) const {
  if (!form.reorders() && form.padding == 0) return {*nest_, std::move(setting)};
  nest::Transformed changed = nest::transform(*nest_, form);
  nest::Point point(std::make_shared<const nest::Definition>(std::move(changed.nest)), setting);
  if (!form.reorders()) return point;
  const nest::Point written(*nest_, std::move(setting));
  const auto [known, is_new] = broken_.try_emplace({written.setting().parameters, form.order, form.tile});
  if (is_new) known->second = nest::find_broken_dependence(written, point, changed.variables);
  if (!known->second.empty())
    throw bad_input(nest_->file, known->second,
                    "use another --order, or --tile 0: this one would change what the nest computes");
  return point;
}

NestKernel::NestKernel(const std::string& file, const std::string& text)
    : NestKernel(file, fmt::format("{:016x}", base::fnv(text)),
                 std::make_unique<nest::Definition>(nest::parse(file, text))) {
  orders_ = nest::orders(*nest_, most_exchanged);
  const auto add = [&](Parameter parameter) {
    const auto same = [&](const Parameter& other) { return other.name == parameter.name; };
    if (std::ranges::any_of(parameters_, same))
      throw bad_input(file, fmt::format("\"{}\" is a parameter of every nest", parameter.name),
                      "use another name");
    parameters_.push_back(std::move(parameter));
  };
  std::vector<std::string> orders;
  for (const nest::Order& order : orders_)
    orders.push_back(nest::name(*nest_, order));
  if (orders.size() > 1)
    add(choice_parameter("order", "of the loops, from the outermost one; all: every order",
                         std::move(orders)));
  for (const nest::Parameter& p : nest_->parameters)
    add(number_parameter(p.name, p.prose, p.fallback, p.least, p.most));
  for (const nest::TypeParameter& p : nest_->types) {
    std::vector<std::string> names;
    for (const nest::Type type : p.choices)
      names.emplace_back(nest::name(type));
    add(choice_parameter(p.name, p.prose, std::move(names)));
  }
}

const Kernel& NestKernel::configured(const result::Params& given) const {
  const std::string path = result::word(given, "file");
  if (path.empty())
    throw bad_input("recount sweep nest", "no file given",
                    "recount sweep nest --file gemm.nest; recount-nest(5) describes the format");
  static std::map<std::pair<std::string, std::string>, NestKernel> kernels;
  std::string text = read_nest(path);
  const auto known = kernels.find({path, text});
  if (known != kernels.end()) return known->second;
  NestKernel kernel(path, text);
  return kernels.emplace(std::pair(path, std::move(text)), std::move(kernel)).first->second;
}

nest::Point NestKernel::at(const result::Params& given) const {
  if (!nest_) throw bad_input("nest --file", "no file given", "recount sweep nest --file gemm.nest");
  const result::Params point = complete(*this, given);
  if (text(point, "digest") != text(complete(*this, {}), "digest"))
    throw bad_input(nest_->file, "has changed since the sweep began",
                    "start the sweep again with another -o FILE");
  nest::Setting setting;
  setting.offset = number(point, "offset");
  for (const auto& p : nest_->parameters)
    setting.parameters.push_back(number(point, p.name));
  for (const auto& p : nest_->types)
    setting.types.push_back(*nest::parse_type(text(point, p.name)));
  nest::Form form{orders_.front(), number(point, "tile"), number(point, "padding")};
  for (const nest::Order& order : orders_)
    if (orders_.size() > 1 && nest::name(*nest_, order) == text(point, "order")) form.order = order;
  return formed(std::move(setting), form);
}

std::int64_t NestKernel::bytes(const result::Params& point) const {
  try {
    return at(point).bytes();
  } catch (const Error& error) { // points of a grid are skipped with the cause alone
    throw Error(error.kind(), {name(), error.problem().about(error.problem().subject)});
  }
}

std::unique_ptr<Instance> NestKernel::prepare(const result::Params& point) const {
  return std::make_unique<NestInstance>(at(point), pages(complete(*this, point)));
}

std::string NestKernel::unprepared() const {
  return nest::cannot_compile();
}

model::Nest NestKernel::recorded(const nest::Point& point, const std::optional<model::Placement>& placement) {
  std::vector<std::uint64_t> bases;
  for (const nest::PlacedArray& array : point.arrays())
    bases.push_back(model::array_base(placement, assumed_base, static_cast<unsigned>(bases.size())) +
                    static_cast<std::uint64_t>(point.setting().offset) +
                    (placement ? 0 : static_cast<std::uint64_t>(array.begin)));
  return point.recorded(bases);
}

std::int64_t NestKernel::simulate(const result::Params& point, model::Hierarchy& caches) const {
  const nest::Point where = at(point);
  model::simulate_nest(recorded(where, caches.machine().placement), caches);
  return where.work().loads + where.work().stores;
}

std::int64_t NestKernel::simulate_warm(const result::Params& point, model::Hierarchy& caches) const {
  const nest::Point where = at(point);
  model::simulate_nest_warm(recorded(where, caches.machine().placement), caches);
  return where.work().loads + where.work().stores;
}

std::string NestKernel::unsimulated() const {
  return nest_ ? "" : "its loops are in a file";
}

std::vector<Expectation> NestKernel::expected(const result::Params& point) const {
  if (!nest_) return {};
  const nest::Point where = at(point);
  const nest::Work work = where.work();
  const double stack = stack_per_call + stack_per_turn * static_cast<double>(where.outer_turns());
  const auto accessing = [&](const char* metric, std::int64_t count, const char* what) -> Expectation {
    return {metric, static_cast<double>(count), 0, stack,
            fmt::format("{} of array elements in the text; the compiler may add some of the stack", what)};
  };
  const auto operations = [&](const char* metric, std::int64_t count) -> Expectation {
    return {metric, static_cast<double>(count), 0, 0, "operations of floating-point values in the text"};
  };
  return {accessing("PAPI_LD_INS", work.loads, "loads"),
          accessing("PAPI_SR_INS", work.stores, "stores"),
          accessing("PAPI_LST_INS", work.loads + work.stores, "loads and stores"),
          operations("PAPI_FP_OPS", work.single_operations + work.double_operations),
          operations("PAPI_SP_OPS", work.single_operations),
          operations("PAPI_DP_OPS", work.double_operations)};
}

const Kernel& nest_kernel() {
  static const NestKernel kernel;
  return kernel;
}

} // namespace recount::kernel
