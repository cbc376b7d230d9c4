// Random loop nests and a plain way to execute them.
#pragma once

#include "../model/random_machine.hpp"
#include "model/accelerated/nest.hpp"
#include "model/hierarchy.hpp"

/// Executes a nest access by access, the way its definition reads.
class PlainNest {
public:
  explicit PlainNest(recount::model::Hierarchy& caches) : caches_(caches) {}
  void run(const std::vector<recount::model::NestNode>& nodes) {

    for (const recount::model::NestNode& node : nodes) {
      if (const auto* const access = std::get_if<recount::model::NestAccess>(&node)) {
        const auto address = static_cast<std::uint64_t>(access->address.at(variables_));
        if (access->cause == recount::model::Cause::store)
          caches_.store(address, access->bytes);
        else
          caches_.load(address, access->bytes);
        ++accesses;
        continue;
      }
      const auto& loop = std::get<recount::model::NestLoop>(node);
      const std::int64_t last = loop.last.at(variables_);
      for (std::int64_t i = loop.first.at(variables_); i < last; i += loop.step) {
        variables_[loop.variable] = i;
        run(loop.body);
      }
      variables_[loop.variable] = 0;
    }
  }
  std::int64_t accesses = 0;

private:
  recount::model::Hierarchy& caches_;
  recount::model::Environment variables_{};
};

/// Loops of random bounds (blocks and triangles among them) around accesses of random strides, a few thousand
/// accesses in all. Every access is a multiple of its size.
class RandomNest {
public:
  explicit RandomNest(Chance& chance)
      : chance_(chance), bytes_(1 << chance.from(0, 3)), left_(chance.one_in(8) ? 40000 : 4000) {}

  recount::model::Nest make() {
    recount::model::Nest nest;
    const std::int64_t loops = chance_.from(1, 2);
    for (std::int64_t i = 0; i < loops; ++i)
      nest.nodes.push_back(loop(0, left_ / loops));
    if (chance_.one_in(4)) nest.nodes.insert(nest.nodes.begin() + chance_.from(0, loops), access(0));
    return nest;
  }

private:
  using Affine = recount::model::Affine;

  recount::model::NestNode access(std::size_t depth) {
    recount::model::NestAccess access;
    access.cause = chance_.one_in(3) ? recount::model::Cause::store : recount::model::Cause::load;
    access.array = static_cast<unsigned>(chance_.from(0, 3));
    access.bytes = static_cast<unsigned>(bytes_);
    // Arrays lie apart, close to one another, or over one another.
    access.address.constant = (1 << 24) +
                              (chance_.one_in(3) ? 0 : access.array * (1 << chance_.from(6, 14))) +
                              bytes_ * chance_.from(0, 16);
    for (std::size_t v = 0; v < depth; ++v)
      if (!chance_.one_in(3))
        access.address.slope[v] =
            bytes_ * (chance_.one_in(2) ? chance_.from(-2, 4) : chance_.from(0, 1) << chance_.from(0, 8));
    return access;
  }

  recount::model::NestNode loop(std::size_t depth, std::int64_t most) {

    recount::model::NestLoop loop;
    loop.variable = depth;
    loop.step = chance_.one_in(4) ? chance_.from(1, 5) : 1;
    const std::int64_t turns =
        chance_.from(1, depth == 0 && chance_.one_in(10) ? most : std::min<std::int64_t>(most, 40));
    loop.first.constant = chance_.from(0, 3);
    if (depth > 0 && chance_.one_in(4))
      loop.first.slope[static_cast<std::size_t>(chance_.from(0, static_cast<std::int64_t>(depth) - 1))] = 1;
    recount::model::Affine last = loop.first;
    last.constant += turns * loop.step - chance_.from(0, loop.step - 1);
    if (depth > 0 && chance_.one_in(8)) last.slope[depth - 1] += chance_.from(-1, 1);
    loop.last = {last, last};
    if (chance_.one_in(4)) loop.last.other = recount::model::Affine{chance_.from(1, 60), {}};
    const std::int64_t inside = most / std::max<std::int64_t>(1, turns);
    const bool deeper = depth < 3 && inside > 8 && !chance_.one_in(4);
    const std::int64_t nodes = chance_.from(1, 3);
    for (std::int64_t i = 0; i < nodes; ++i) {
      if (deeper && chance_.one_in(2))
        loop.body.push_back(this->loop(depth + 1, inside / nodes));
      else
        loop.body.push_back(access(depth + 1));
    }
    return loop;
  }

  Chance& chance_;
  std::int64_t bytes_, left_;
};
