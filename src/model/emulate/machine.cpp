#include "model/emulate/machine.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <linux/perf_event.h>
#include <sstream>
#include <stdexcept>

namespace recount::emulate {
namespace {

/// Indices of the floating-point quantities with these fields; "any" matches every value.
std::vector<std::size_t> fp_matching(std::string_view operation, std::string_view element,
                                     std::string_view width) {
  const auto matches = [](std::string_view field, const char* value) {
    return field == "any" || field == value;
  };
  std::vector<std::size_t> found;
  std::size_t at = plain_quantities;
  for (const char* one_operation : fp_operations)
    for (const char* one_element : fp_elements)
      for (const char* one_width : fp_widths) {
        if (matches(operation, one_operation) && matches(element, one_element) && matches(width, one_width))
          found.push_back(at);
        ++at;
      }
  return found;
}

} // namespace

void add(Work& to, const Work& what, double times) {
  for (std::size_t i = 0; i < all_quantities; ++i)
    to.of[i] += times * what.of[i];
}

std::vector<std::size_t> quantities_named(const std::string& name) {
  const auto plain = std::ranges::find(quantity_names, name);
  if (plain != std::end(quantity_names)) return {static_cast<std::size_t>(plain - quantity_names)};
  const auto fields = base::split(name, '_');
  if (fields.size() != 4 || fields[0] != "fp") return {};
  return fp_matching(fields[1], fields[2], fields[3]);
}

std::size_t fp_quantity(const std::string& operation, const std::string& element, const std::string& width) {
  return fp_matching(operation, element, width).at(0);
}

namespace {

struct Words : std::vector<std::string> {
  using vector::vector;
  [[nodiscard]] const std::string& at(std::size_t i) const {
    if (i < size()) return (*this)[i];
    throw std::runtime_error(empty() ? "a word is missing" : "\"" + front() + "\": a word is missing");
  }
};

Words split(const std::string& line) {
  std::istringstream text(line);
  Words words;
  for (std::string word; text >> word;)
    words.push_back(word);
  return words;
}

std::uint64_t number(const std::string& text) {
  const auto value = base::parse_number(text);
  if (!value) throw std::runtime_error("\"" + text + "\" is no number");
  return *value;
}

int small_number(const std::string& text, int most) {
  const auto value = base::parse<int>(text);
  if (!value || *value < 0 || *value > most)
    throw std::runtime_error("\"" + text + "\" must be a number from 0 to " + std::to_string(most));
  return *value;
}

double real_number(const std::string& text) {
  const auto value = base::parse<double>(text);
  if (!value || !std::isfinite(*value)) throw std::runtime_error("\"" + text + "\" is no number");
  return *value;
}

/// "0-3,8" as bits.
std::uint64_t bits(const std::string& text) {
  std::uint64_t mask = 0;
  for (const int i : base::parse_cpu_list(text))
    mask |= std::uint64_t{1} << (i & 63);
  return mask;
}

/// The text after the first '=' that stands alone, and what is before it.
struct Sides {
  Words left;
  std::string right;
};
Sides sides(const std::string& line) {
  const auto at = line.find(" = ");
  if (at == line.npos) throw std::runtime_error("an \" = \" is missing");
  return {split(line.substr(0, at)), line.substr(at + 3)};
}

std::size_t numbered(const std::string& word, std::initializer_list<const char*> names) {
  std::size_t i = 0;
  for (const char* name : names) {
    if (word == name) return i;
    ++i;
  }
  throw std::runtime_error("unknown word \"" + word + "\"");
}

class Reader {
public:
  explicit Reader(SimulatedMachine& machine) : machine_(machine) {}

  void read_file(const std::string& file) {
    std::ifstream text(file);
    if (!text) throw std::runtime_error(file + ": cannot be read");
    folder_ = file.substr(0, file.rfind('/') + 1);
    read(text, file);
  }

  void read(std::istream& text, const std::string& file) {
    std::string line;
    for (int at = 1; std::getline(text, line); ++at) {
      const auto hash = line.find('#');
      const std::string remark = hash == line.npos ? "" : line.substr(hash + 1);
      line = line.substr(0, hash);
      const Words words = split(line);
      if (words.empty()) continue;
      try {
        statement(words, line, remark);
      } catch (const std::exception& e) {
        throw std::runtime_error(file + ":" + std::to_string(at) + ": " + e.what());
      }
    }
  }

  /// Statements of the command line, which define no names.
  void read_changes(std::istream& text) {
    changing_ = true;
    read(text, "changes");
  }

private:
  void statement(const Words& words, const std::string& line, const std::string& remark) {
    const std::string& key = words[0];
    if (key == "machine")
      machine_.name = file_name(words.at(1));
    else if (key == "like")
      like(file_name(words.at(1)));
    else if (key == "source")
      machine_.source += (machine_.source.empty() ? "" : " ") + joined(words, 1);
    else if (key == "cpu")
      machine_.processor = processor(words);
    else if (key == "hide")
      machine_.hidden.insert(machine_.hidden.end(), words.begin() + 1, words.end());
    else if (key == "cache")
      put(machine_.caches, cache(words), &CacheLevel::name);
    else if (key == "tlb")
      put(machine_.tlbs, tlb(words), &TlbLevel::name);
    else if (key == "background")
      machine_.background = amounts(words);
    else if (key == "kernel-background")
      machine_.kernel_background = amounts(words);
    else if (key == "per-second")
      machine_.per_second = amounts(words);
    else if (key == "program")
      machine_.program = amounts(words);
    else if (key == "pmu")
      begin(words);
    else if (key == "let")
      let(sides(line));
    else if (key == "parameter")
      parameter(words);
    else if (key == "event")
      event(row(sides(line), remark));
    else if (key == "without")
      without(words.at(1));
    else if (key == "change")
      change(sides(line));
    else if (key == "fixed")
      current().fixed.push_back(fixed(words));
    else if (key == "generic")
      current().generic[generic(words.at(1))] = {number(words.at(2)), 0};
    else if (key == "cache-event")
      current().cache_event[cache_event(words)] = {number(words.at(4)),
                                                   words.size() > 5 ? number(words[5]) : 0};
    else if (key == "general")
      for_pmus([&](SimulatedPmu& pmu) { pmu.general = small_number(words.at(1), 64); });
    else if (key == "general-alone")
      current().general_alone = small_number(words.at(1), 64);
    else if (key == "setting")
      machine_.settings.emplace_back(words.at(1), words.at(2));
    else if (key == "device")
      machine_.devices.push_back(device(words));
    else if (!describe(words))
      throw std::runtime_error("unknown statement \"" + key + "\"");
  }

  /// Begins with what another machine of the same folder is. What follows takes its place.
  void like(const std::string& name) {
    if (like_ || !machine_.pmus.empty() || !machine_.caches.empty())
      throw std::runtime_error("\"like\" is not the first statement, or in the file of such a machine");
    like_ = true;
    machine_.source += (machine_.source.empty() ? "Like " : " Like ") + name + ":";
    read_file(folder_ + name + ".pmu");
  }
  template <class Part, class Name>
  void put(std::vector<Part>& parts, Part part, Name name) const {
    const auto same = like_ ? std::ranges::find(parts, part.*name, name) : parts.end();
    if (same == parts.end())
      parts.push_back(std::move(part));
    else
      *same = std::move(part);
  }
  void event(SimulatedEvent row) {
    auto& rows = current().rows;
    const auto same = std::ranges::find_if(rows, [&](const SimulatedEvent& known) {
      return like_ && known.code == row.code && known.any_config1 == row.any_config1 &&
             known.config1 == row.config1;
    });
    if (same == rows.end())
      rows.push_back(std::move(row));
    else
      *same = std::move(row);
  }
  void without(const std::string& name) {
    if (std::erase_if(current().rows, [&](const SimulatedEvent& row) { return row.name == name; }) == 0)
      throw std::runtime_error("no event \"" + name + "\"");
  }

  /// What sysfs says of the last PMU or device.
  bool describe(const Words& words) {
    constexpr std::pair<const char*, Files PmuFiles::*> kinds[] = {
        {"format", &PmuFiles::formats}, {"alias", &PmuFiles::aliases}, {"cap", &PmuFiles::caps}};
    for (const auto& [key, files] : kinds) {
      if (words[0] != key) continue;
      PmuFiles& into = machine_.devices.empty() ? current().description : machine_.devices.back().description;
      (into.*files).emplace_back(file_name(words.at(1)), joined(words, 2));
      return true;
    }
    return false;
  }
  /// A name that stays within its folder.
  static std::string file_name(const std::string& word) {
    if (word.find('/') != word.npos || word.starts_with("."))
      throw std::runtime_error("\"" + word + "\" is no name of a file");
    return word;
  }
  static std::string joined(const Words& words, std::size_t first) {
    std::string text;
    for (std::size_t i = first; i < words.size(); ++i)
      text += (i > first ? " " : "") + words[i];
    return text;
  }
  static Device device(const Words& words) {
    Device added;
    added.name = file_name(words.at(1));
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto [name, value] = assignment(words[i]);
      switch (numbered(name, {"like", "cpumask"})) {
      case 0: added.like = file_name(value); break;
      case 1: added.cpumask = value; break;
      }
    }
    return added;
  }
  /// "name=value"; without '=', the value is empty.
  static std::pair<std::string, std::string> assignment(const std::string& word) {
    const auto equals = word.find('=');
    return {word.substr(0, equals), equals == word.npos ? "" : word.substr(equals + 1)};
  }
  SimulatedPmu& current() {
    if (machine_.pmus.empty()) throw std::runtime_error("stands before the first \"pmu\"");
    return machine_.pmus.back();
  }
  template <class Body>
  void for_pmus(Body body) {
    for (SimulatedPmu& pmu : machine_.pmus)
      body(pmu);
  }

  static Processor processor(const Words& words) {
    const auto field = [&](std::size_t i) { return static_cast<unsigned>(number(words.at(i))); };
    return {words.at(1), field(2), field(3), field(4), words.at(5), joined(words, 6)};
  }
  static CacheLevel cache(const Words& words) {
    const auto size = static_cast<std::int64_t>(number(words.at(2))),
               ways = static_cast<std::int64_t>(number(words.at(3))),
               line = static_cast<std::int64_t>(number(words.at(4)));
    if (ways < 1 || line < 1 || size / ways < line)
      throw std::runtime_error("no cache has " + words[3] + " ways of lines of " + words[4] + " in " +
                               words[2] + " bytes");
    return {words.at(1), size, ways, line};
  }
  static TlbLevel tlb(const Words& words) {
    return {words.at(1), static_cast<std::int64_t>(number(words.at(2))),
            static_cast<std::int64_t>(number(words.at(3)))};
  }
  static Work amounts(const Words& words) {
    Work work;
    for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
      const auto which = quantities_named(words[i]);
      if (which.size() != 1) throw std::runtime_error("no quantity \"" + words[i] + "\"");
      work.of[which[0]] = real_number(words[i + 1]);
    }
    return work;
  }
  void begin(const Words& words) {
    const std::string name = file_name(words.at(1));
    const auto known =
        like_ ? std::ranges::find(machine_.pmus, name, &SimulatedPmu::name) : machine_.pmus.end();
    if (known != machine_.pmus.end()) return set_up(*known, words);
    SimulatedPmu pmu;
    pmu.name = name;
    set_up(pmu, words);
    machine_.pmus.push_back(pmu);
  }
  static void set_up(SimulatedPmu& pmu, const Words& words) {
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto [name, value] = assignment(words[i]);
      switch (numbered(name, {"type", "cpus", "general", "width", "mhz"})) {
      case 0: pmu.type = static_cast<std::uint32_t>(number(value)); break;
      case 1:
        pmu.cpus = base::parse_cpu_list(value);
        pmu.description.cpus = value;
        break;
      case 2: pmu.general = small_number(value, 64); break;
      case 3: pmu.width = small_number(value, 64); break;
      case 4: pmu.mhz = real_number(value); break;
      }
    }
  }
  static FixedCounter fixed(const Words& words) {
    FixedCounter one;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (words[i] == "only")
        one.only = true;
      else
        one.codes.push_back(code(words[i]));
    return one;
  }
  static std::uint64_t generic(const std::string& name) {
    return numbered(name, {"cycles", "instructions", "cache-references", "cache-misses", "branches",
                           "branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend",
                           "ref-cycles"});
  }
  static std::uint64_t cache_event(const Words& words) {
    return numbered(words.at(1), {"L1D", "L1I", "LL", "DTLB", "ITLB", "BPU", "NODE"}) |
           numbered(words.at(2), {"read", "write", "prefetch"}) << 8 |
           numbered(words.at(3), {"access", "miss"}) << 16;
  }
  static EventSelect code(const std::string& word) {
    const auto dot = word.find('.');
    EventSelect code;
    code.event = static_cast<std::uint32_t>(number(word.substr(0, dot)));
    if (dot != word.npos) code.umask = static_cast<std::uint32_t>(number(word.substr(dot + 1)));
    return code;
  }
  SimulatedEvent row(const Sides& sides, const std::string& remark) {
    SimulatedEvent row = head(sides.left);
    row.count = expression(sides.right);
    const auto colon = remark.find(':');
    row.name = split(remark.substr(0, colon)).empty() ? "" : split(remark.substr(0, colon))[0];
    row.formula = base::trim(sides.right);
    if (colon != remark.npos) row.description = base::trim(std::string_view(remark).substr(colon + 1));
    return row;
  }
  static SimulatedEvent head(const Words& words) {
    SimulatedEvent row;
    row.code = code(words.at(1));
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto [name, value] = assignment(words[i]);
      switch (numbered(name, {"cmask", "inv", "edge", "any", "config1", "counters", "leader"})) {
      case 0: row.code.cmask = static_cast<std::uint32_t>(number(value)); break;
      case 1: row.code.inv = true; break;
      case 2: row.code.edge = true; break;
      case 3: row.code.any = true; break;
      case 4:
        row.any_config1 = false;
        row.config1 = number(value);
        break;
      case 5: row.counters = bits(value); break;
      case 6: row.leader = code(value); break;
      }
    }
    return row;
  }
  void let(const Sides& sides) {
    SimulatedPmu& pmu = current();
    const Expression value = expression(sides.right);
    const std::string& name = sides.left.at(1);
    const auto known = like_ ? std::ranges::find(pmu.names, name) : pmu.names.end();
    if (known != pmu.names.end())
      return define_again(pmu, static_cast<std::size_t>(known - pmu.names.begin()), value);
    pmu.lets.push_back(value);
    pmu.names.push_back(name);
  }
  /// In its place, as others follow from it.
  static void define_again(SimulatedPmu& pmu, std::size_t at, const Expression& value) {
    for (const auto& operands : value.operands)
      for (const std::size_t operand : operands)
        if (operand >= all_quantities + at)
          throw std::runtime_error(pmu.names[at] + " follows from what is defined after it");
    pmu.lets[at] = value;
  }
  /// Defined again, it changes: every PMU's definition of it.
  void parameter(const Words& words) {
    const Expression value = expression(words.at(2));
    SimulatedPmu& last = current();
    if (std::ranges::find(last.names, words.at(1)) == last.names.end()) {
      if (changing_) throw std::runtime_error("no parameter \"" + words.at(1) + "\"");
      last.lets.push_back(value);
      last.names.push_back(words.at(1));
      return;
    }
    for_pmus([&](SimulatedPmu& pmu) {
      const auto found = std::ranges::find(pmu.names, words.at(1));
      if (found != pmu.names.end()) pmu.lets[static_cast<std::size_t>(found - pmu.names.begin())] = value;
    });
  }
  /// Another expression for an event of every PMU, in which `it` is the one so far.
  void change(const Sides& sides) {
    const std::string& name = sides.left.at(1);
    bool known = false;
    for_pmus([&](SimulatedPmu& pmu) {
      for (SimulatedEvent& row : pmu.rows) {
        const bool meant = name.starts_with("0x") ? row.code == head(sides.left).code : row.name == name;
        if (!meant) continue;
        known = true;
        pmu.lets.push_back(row.count);
        pmu.names.push_back("it");
        row.count = expression(sides.right, pmu);
        row.changed = true;
        pmu.names.back() = "it_of_" + row.name;
      }
    });
    if (!known) throw std::runtime_error("no event \"" + name + "\"");
  }
  Expression expression(const std::string& text) {
    static const SimulatedPmu none;
    return expression(text, machine_.pmus.empty() ? none : machine_.pmus.back());
  }
  static Expression expression(const std::string& text, const SimulatedPmu& pmu) {
    auto named = recount::formula::parse_named(text);
    if (!named.fault.empty()) throw std::runtime_error(named.fault + ": " + text);
    Expression compiled;
    compiled.rpn = named.rpn;
    for (const auto& quantity : named.quantities) {
      compiled.operands.push_back(quantity.name.empty() ? std::vector<std::size_t>{}
                                                        : indices(quantity.name, pmu));
      compiled.numbers.push_back(quantity.number);
    }
    return compiled;
  }
  static std::vector<std::size_t> indices(const std::string& name, const SimulatedPmu& pmu) {
    for (std::size_t i = pmu.names.size(); i > 0; --i)
      if (pmu.names[i - 1] == name) return {all_quantities + i - 1};
    auto found = quantities_named(name);
    if (found.empty()) throw std::runtime_error("nothing is called \"" + name + "\"");
    return found;
  }

  SimulatedMachine& machine_;
  std::string folder_; ///< of the file, with its slash
  bool like_ = false;  ///< another machine has been read
  bool changing_ = false;
};

} // namespace

EventSelect decode_config(std::uint64_t config) {
  const auto field = [&](unsigned from, std::uint32_t mask) {
    return static_cast<std::uint32_t>(config >> from) & mask;
  };
  // AMD's event codes have four more bits, 32 to 35: PMC_Ex of the PPR.
  return {field(0, 0xff) | field(32, 0xf) << 8,
          field(8, 0xff),
          field(24, 0xff),
          field(23, 1) != 0,
          field(18, 1) != 0,
          field(21, 1) != 0};
}

SimulatedMachine read_machine(const std::string& file, const std::string& changes) {
  SimulatedMachine machine;
  Reader reader(machine);
  reader.read_file(file);
  std::istringstream more(changes);
  reader.read_changes(more);
  for (SimulatedPmu& pmu : machine.pmus) {
    pmu.cycles = decode_config(pmu.generic[PERF_COUNT_HW_CPU_CYCLES].config);
    const auto found = std::ranges::find(pmu.names, "cycles");
    if (found == pmu.names.end()) throw std::runtime_error(file + ": PMU " + pmu.name + " defines no cycles");
    pmu.cycles_value = static_cast<int>(all_quantities) + static_cast<int>(found - pmu.names.begin());
  }
  return machine;
}

std::vector<double> values(const SimulatedPmu& pmu, const Work& work) {
  std::vector<double> all(work.of.begin(), work.of.end());
  all.reserve(all_quantities + pmu.lets.size());
  for (const Expression& let : pmu.lets)
    all.push_back(evaluate(let, all));
  return all;
}

double evaluate(const Expression& expression, const std::vector<double>& values) {
  std::vector<double> operands(expression.numbers);
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (const std::size_t at : expression.operands[i])
      operands[i] += values[at];
  return recount::formula::evaluate_real(expression.rpn, operands).value.value_or(0);
}

} // namespace recount::emulate
