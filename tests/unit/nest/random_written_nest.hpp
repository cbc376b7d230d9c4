// Random nests as text: blocks, triangles, steps, scalars, column-major and padded arrays.
#pragma once

#include "../model/random_machine.hpp"
#include "written_nest.hpp"

#include <algorithm>

/// A few thousand accesses; every subscript is within its array, and each extent is met.
class RandomWrittenNest {
public:
  RandomWrittenNest(Chance& chance, std::vector<recount::nest::Type> types) : chance_(chance) {
    nest_.type = types[static_cast<std::size_t>(chance.from(0, static_cast<std::int64_t>(types.size()) - 1))];
    nest_.parameters = {{"n", chance.from(3, 14)}, {"m", chance.from(1, 9)}};
    const std::int64_t arrays = chance.from(1, 3);
    for (std::int64_t i = 0; i < arrays; ++i)
      nest_.arrays.push_back({std::string(1, static_cast<char>('a' + i)),
                              std::vector<std::int64_t>(static_cast<std::size_t>(chance.from(1, 3)), 1),
                              chance.one_in(3), chance.one_in(3) ? chance.from(1, 20) : 0});
    const std::int64_t nodes = chance.from(1, 2);
    for (std::int64_t i = 0; i < nodes; ++i)
      nest_.body.push_back(loop(0));
    if (chance.one_in(4)) nest_.body.push_back(statement());
    fit();
  }
  [[nodiscard]] const written::Nest& nest() const { return nest_; }
  [[nodiscard]] written::Nest& nest() { return nest_; }

private:
  written::Linear linear(std::int64_t most_terms, bool of_variables = true) {
    written::Linear form{chance_.from(-2, 3), {}};
    for (std::int64_t i = chance_.from(0, most_terms); i > 0; --i) {
      std::int64_t factor = chance_.one_in(3) ? chance_.from(-2, 3) : 1;
      if (factor == 0) factor = 1;
      const bool variable = of_variables && !variables_.empty() && !chance_.one_in(4);
      form.terms.emplace_back(factor, variable ? any(variables_) : chance_.one_in(2) ? "n" : "m");
    }
    return form;
  }
  template <class T>
  const T& any(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(chance_.from(0, static_cast<std::int64_t>(all.size()) - 1))];
  }
  written::Element element() {
    written::Element chosen;
    chosen.array =
        static_cast<std::size_t>(chance_.from(0, static_cast<std::int64_t>(nest_.arrays.size()) - 1));
    for (std::size_t d = 0; d < nest_.arrays[chosen.array].extents.size(); ++d)
      chosen.subscripts.push_back(linear(2));
    return chosen;
  }
  written::Value value(int depth) {
    written::Value term;
    const std::int64_t kind = chance_.from(0, depth > 2 ? 3 : 6);
    if (kind == 0) {
      term.number = static_cast<double>(chance_.from(0, 9)); // a negative one is text for an operation
      if (floating(nest_.type) && chance_.one_in(2)) term.number += 0.5;
      return term;
    }
    if (kind == 1 && !scalars_.empty()) {
      term.kind = 's';
      term.scalar = any(scalars_);
      return term;
    }
    if (kind <= 3) {
      term.kind = 'e';
      term.element = element();
      return term;
    }
    term.kind = "+-*/"[chance_.from(0, floating(nest_.type) ? 3 : 2)];
    term.parts = {value(depth + 1), value(depth + 1)};
    if (term.parts[0].kind == 'n' && term.parts[1].kind == 'n') term.parts[1] = {'e', 0, element(), {}, {}};
    return term;
  }
  written::Node statement() {
    written::Node node;
    written::Statement& one = node.statement;
    one.value = value(0);
    one.to_element = !chance_.one_in(3);
    if (one.to_element) {
      one.element = element();
    } else if (scalars_.empty() || chance_.one_in(2)) {
      one.declares = true;
      one.scalar = "s" + std::to_string(names_++);
      scalars_.push_back(one.scalar);
    } else {
      one.scalar = any(scalars_);
    }
    if (!one.declares && chance_.one_in(2))
      one.sign = std::string(1, "+-*/"[chance_.from(0, floating(nest_.type) ? 3 : 2)]) + "=";
    return node;
  }
  written::Node loop(int depth) {
    written::Node node;
    node.loop = true;
    written::Loop& outer = node.of;
    outer.first = chance_.one_in(3) ? linear(1) : written::Linear{chance_.from(0, 2), {}};
    outer.last = chance_.one_in(3) ? linear(2) : written::Linear{chance_.from(0, 2), {{1, "n"}}};
    if (chance_.one_in(3)) outer.other.push_back(linear(1));
    outer.step = chance_.one_in(3) ? chance_.from(2, 4) : 1;
    outer.variable = "v" + std::to_string(names_++);
    variables_.push_back(outer.variable);
    const std::size_t scope = scalars_.size();
    for (std::int64_t i = chance_.from(1, 3); i > 0; --i)
      outer.body.push_back(depth < 3 && chance_.one_in(2) ? loop(depth + 1) : statement());
    scalars_.resize(scope);
    variables_.pop_back();
    return node;
  }

  /// Shifts subscripts so that none is negative, and makes the extents as large as they must be.
  void fit() {
    const auto elements = [](auto&& self, written::Nodes& nodes, const auto& visit) -> void {
      const auto in_value = [&](auto&& again, written::Value& value) -> void {
        if (value.kind == 'e') visit(value.element);
        for (written::Value& part : value.parts)
          again(again, part);
      };
      for (written::Node& node : nodes) {
        if (node.loop) {
          self(self, node.of.body, visit);
          continue;
        }
        in_value(in_value, node.statement.value);
        if (node.statement.to_element) visit(node.statement.element);
      }
    };
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> low, high;
    written::Interpreter meaning(nest_);
    meaning.subscript = [&](std::size_t array, std::size_t dimension, std::int64_t at) {
      auto& least = low.try_emplace({array, dimension}, at).first->second;
      auto& most = high.try_emplace({array, dimension}, at).first->second;
      least = std::min(least, at);
      most = std::max(most, at);
    };
    meaning.run();
    elements(elements, nest_.body, [&](written::Element& element) {
      for (std::size_t d = 0; d < element.subscripts.size(); ++d)
        element.subscripts[d].constant -= low[{element.array, d}];
    });
    for (std::size_t a = 0; a < nest_.arrays.size(); ++a)
      for (std::size_t d = 0; d < nest_.arrays[a].extents.size(); ++d)
        nest_.arrays[a].extents[d] = high[{a, d}] - low[{a, d}] + 1;
  }

  Chance& chance_;
  written::Nest nest_;
  std::vector<std::string> variables_, scalars_;
  int names_ = 0;
};
