#include "kernel/blocks/block_kernel.hpp"

#include "base/random.hpp"
#include "kernel/memory.hpp"
#include "kernel/point.hpp"
#include "kernel/tally.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

namespace recount::kernel {

const native::Block& native::find_block(std::string_view name, const std::string& subject) {
  const auto all = blocks();
  const auto found = std::ranges::find(all, name, &Block::name);
  if (found == all.end()) throw bad_input(subject, fmt::format("{} has no such instruction", architecture()));
  return *found;
}

namespace {

constexpr std::int64_t most_turns = std::int64_t{1} << 40;

std::vector<Parameter> with_turns(std::vector<Parameter> choices, std::int64_t fallback) {
  choices.push_back(number_parameter(
      "turns", fmt::format("loop iterations of {} steps", native::steps_per_turn), fallback, 1, most_turns));
  return choices;
}

constexpr std::size_t biased_period = 8; ///< bytes of which one is not zero

/// Blocks that take their pattern from the data are identified by name.
Data data_of(const native::Block& block, const Family& family) {
  if (block.name == "branch_biased") return Data::biased;
  return block.name.ends_with("_data") ? Data::coins : family.data;
}

} // namespace

/// A point, checked.
struct BlockKernel::At {
  std::string values; ///< "add_f64_scalar"
  const native::Block* block = nullptr;
  std::int64_t turns = 0;
  [[nodiscard]] double steps() const { return static_cast<double>(turns * native::steps_per_turn); }
};

BlockKernel::BlockKernel(const Family& family)
    : BasicKernel(family.name, family.prose, with_turns(family.choices, family.turns)), family_(family) {}

BlockKernel::At BlockKernel::at(const result::Params& given) const {
  const result::Params point = complete(*this, given);
  At at;
  at.turns = number(point, "turns");
  for (const Parameter& choice : family_.choices)
    at.values += (at.values.empty() ? "" : "_") + text(point, choice.name);
  std::ranges::replace(at.values, '-', '_');
  const std::string own = name() + "_" + at.values;
  const auto alias = family_.aliases.find(own);
  at.block = &native::find_block(alias == family_.aliases.end() ? own : alias->second,
                                 name() + " " + result::describe(point));
  return at;
}

std::int64_t BlockKernel::bytes(const result::Params& point) const {
  const At here = at(point);
  return data_bytes(data_of(*here.block, family_), here.turns);
}

std::unique_ptr<Instance> BlockKernel::prepare(const result::Params& point) const {
  const At here = at(point);
  const std::string subject = name() + " " + result::describe(complete(*this, point));
  if (const std::string lacks = missing(here.block->feature); !lacks.empty())
    throw unavailable(subject, lacks);
  const Data data = data_of(*here.block, family_);
  const std::int64_t bytes = data_bytes(data, here.turns);
  auto memory = std::make_unique<Memory>(bytes, 0, Memory::Pages::small, subject);
  lay_out(data, here.values.ends_with("random"), {memory->data(), static_cast<std::size_t>(bytes)});
  const native::BlockArguments context{here.turns, memory->data(), 0, 0};
  return make_instance(here.block->code, context, here.turns * native::steps_per_turn, std::move(memory));
}

std::vector<Expectation> BlockKernel::expected(const result::Params& point) const {
  const At here = at(point);
  const native::Block& block = *here.block;
  const auto turns = static_cast<double>(here.turns);
  const Tally turn = native::steps_per_turn * block.step + block.turn;
  auto all = instruction_presets(turn, turns, block.once);
  const auto caches = cache_presets(turn, turns, block.once);
  all.insert(all.end(), caches.begin(), caches.end());
  const auto predictions = predicted(block.tally(turns),
                                     here.values == "random"                   ? 1.0 / 2
                                     : data_of(block, family_) == Data::biased ? 1.0 / biased_period
                                                                               : 0,
                                     here.steps());
  all.insert(all.end(), predictions.begin(), predictions.end());
  for (const Bound& bound : family_.bounds)
    if (bound.values == here.values)
      for (const std::string& preset : bound.presets)
        all.push_back(between(preset, bound.least * here.steps(), bound.most * here.steps(), bound.form));
  return all;
}

namespace {

constexpr std::int64_t line_room = 256;

template <class T>
void put_ones(std::span<std::byte> memory, int at, T one) {
  for (std::size_t i = 0; i < 64; i += sizeof one)
    std::memcpy(memory.data() + at + i, &one, sizeof one);
}

/// One byte of each period 1; then shuffled (Fisher and Yates), from a seed of its own.
void toss(std::span<std::byte> memory, std::size_t period, bool random) {
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = std::byte(i % period == 1 ? 1 : 0);
  if (!random) return;
  std::uint64_t state = 1;
  for (std::size_t i = memory.size(); i > 1; --i)
    std::swap(memory[i - 1], memory[static_cast<std::size_t>(base::random_below(state, i))]);
}

} // namespace

std::int64_t data_bytes(Data data, std::int64_t turns) {
  switch (data) {
  case Data::line: return line_room;
  case Data::ones: return native::ones_bytes;
  case Data::coins:
  case Data::biased: return turns * native::steps_per_turn;
  }
  return 0;
}

void lay_out(Data data, bool random, std::span<std::byte> memory) {
  if (data == Data::coins) return toss(memory, 2, random);
  if (data == Data::biased) return toss(memory, biased_period, true);
  if (data != Data::ones) return;
  put_ones(memory, native::ones_f64, 1.0);
  put_ones(memory, native::ones_f32, 1.0F);
  put_ones(memory, native::ones_f16, std::uint16_t{0x3c00});
}

std::vector<Expectation> predicted(const Tally& tally, double rare, double steps) {
  // A predictor with enough capacity for all random branches predicts them in the next pass.
  constexpr double memorable = 1 << 17, stray = 64;
  const double all = tally.conditional;
  double missed = 0, below = 0, above = stray + all / 500;
  std::string form = "only those of the first turns and the last one";
  if (rare > 0) {
    missed = rare * steps;
    below = steps < memorable ? missed : missed / 4;
    // A predictor that draws directions at their frequency errs 2 * rare * (1 - rare) times per step.
    above += steps * (rare * (1 - 2 * rare) + 1.0 / 32);
    form = fmt::format("1 per {:g} random branches: unpredictable", 1 / rare);
  }
  return {{"PAPI_BR_MSP", missed, below, above, form},
          {"PAPI_BR_PRC", all - missed, above, below, "the conditional branches minus " + form}};
}

} // namespace recount::kernel
