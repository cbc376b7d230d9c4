#include "nest/generate.hpp"

#include "process/child.hpp"
#include "process/temporary_folder.hpp"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <fmt/format.h>

namespace recount::nest {

namespace {

constexpr const char* prologue = R"(typedef double f64;
typedef float f32;
typedef __INT64_TYPE__ i64;
typedef __INT32_TYPE__ i32;
typedef __INT16_TYPE__ i16;
typedef __INT8_TYPE__ i8;
typedef __UINT64_TYPE__ u64;
#if defined(__x86_64__) || defined(__i386__)
#define FLOAT "+x"
#elif defined(__aarch64__)
#define FLOAT "+w"
#elif defined(__riscv) || defined(__powerpc__)
#define FLOAT "+f"
#else
#define FLOAT "+r"
#endif
#define KEEP_F(v) __asm__ volatile("" : FLOAT(v))
#define KEEP_I(v) __asm__ volatile("" : "+r"(v))
)";

/// A value that has been computed into a C variable.
struct Computed {
  std::string name;
  Arithmetic arithmetic = Arithmetic::whole;
  bool loaded = false; ///< depends on a load of the statement: it is not computed in advance or dropped
  double number = 0;
};

const char* c_type(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::f64) return "f64";
  return arithmetic == Arithmetic::f32 ? "f32" : "u64";
}

class Generator {
public:
  Generator(const Definition& nest, const Types& types) : nest_(nest), types_(types) {}

  std::string run() {
    nodes(nest_.body, 1);
    return fmt::format("{}struct context {{ void* array[{}]; i64 parameter[{}]; i64 stride[{}][{}]; }};\n"
                       "void {}(void* argument) {{\n  const struct context* const at = argument;\n{}{}}}\n",
                       prologue, model::nest_arrays, most_parameters, model::nest_arrays, most_dimensions,
                       function_name, declarations(), body_);
  }

private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    body_.append(2 * depth_, ' ');
    body_ += fmt::format(format, std::forward<Arguments>(arguments)...) + '\n';
  }

  std::string declarations() const {
    std::string all;
    for (std::size_t i = 0; i < nest_.parameters.size(); ++i)
      all += fmt::format("  const i64 p{} = at->parameter[{}];\n", i, i);
    for (std::size_t a = 0; a < nest_.arrays.size(); ++a) {
      const Array& array = nest_.arrays[a];
      const char* const type = name(resolve_type(array.type, types_));
      all += fmt::format("  volatile {}* const a{} = (volatile {}*)at->array[{}];\n", type, a, type, a);
      for (std::size_t d = 0; d < array.extents.size(); ++d)
        if (d != contiguous(array))
          all += fmt::format("  const i64 s{}_{} = at->stride[{}][{}];\n", a, d, a, d);
    }
    return all + numbers_;
  }
  static std::size_t contiguous(const Array& array) {
    return array.column_major ? 0 : array.extents.size() - 1;
  }

  void nodes(const std::vector<Node>& body, std::size_t depth) {
    for (const Node& node : body) {
      depth_ = depth;
      if (const auto* const inner = std::get_if<Statement>(&node)) {
        statement(*inner);
        continue;
      }
      const auto& loop = std::get<Loop>(node);
      const std::size_t v = loop.variable;
      line("for (i64 v{} = {}, e{} = {}; v{} < e{}; v{} += {}) {{", v, text(loop.first), v, text(loop.last),
           v, v, v, text(loop.step));
      nodes(loop.body, depth + 1);
      depth_ = depth;
      line("}}");
    }
  }

  static std::string text(const Index& index) {
    const auto both = [&](const char* operation) {
      return fmt::format("({} {} {})", text(index.parts[0]), operation, text(index.parts[1]));
    };
    switch (index.kind) {
    case Index::Kind::number: return fmt::format("(i64){}", index.number);
    case Index::Kind::parameter: return fmt::format("p{}", index.number);
    case Index::Kind::variable: return fmt::format("v{}", index.number);
    case Index::Kind::sum: return both("+");
    case Index::Kind::difference: return both("-");
    case Index::Kind::product: return both("*");
    case Index::Kind::quotient: return both("/");
    case Index::Kind::least: break;
    }
    const std::string left = text(index.parts[0]), right = text(index.parts[1]);
    return fmt::format("({} < {} ? {} : {})", left, right, left, right);
  }
  std::string text(const Element& element) const {
    const Array& array = nest_.arrays[element.array];
    std::string sum;
    for (std::size_t d = 0; d < element.subscripts.size(); ++d) {
      sum += (d > 0 ? " + " : "") + text(element.subscripts[d]);
      if (d != contiguous(array)) sum += fmt::format(" * s{}_{}", element.array, d);
    }
    return fmt::format("a{}[{}]", element.array, sum);
  }

  void statement(const Statement& one) {
    static_cast<void>(count_work(nest_, one, types_)); // refuses what has no meaning
    const Type type = target_type(nest_, one, types_);
    const auto* const scalar = std::get_if<std::size_t>(&one.target);
    if (one.declares) line("{} x{};", name(type), *scalar);
    line("{{");
    ++depth_;
    const std::string target = scalar ? fmt::format("x{}", *scalar) : text(std::get<Element>(one.target));
    Computed value = computed(one.value);
    if (one.operation) {
      const Computed before = read(target, type, !scalar);
      value = operation(*one.operation, before, value);
    }
    line("{} = ({}){};", target, name(type), as(value, arithmetic_of(type)));
    if (scalar) line("KEEP_{}({});", floating(type) ? "F" : "I", target);
    --depth_;
    line("}}");
  }

  /// The value of an element (one load) or a scalar.
  Computed read(const std::string& from, Type type, bool load) {
    Computed value{fresh(), arithmetic_of(type), load};
    line("const {} {} = {}{};", c_type(value.arithmetic), value.name, floating(type) ? "" : "(u64)(i64)",
         from);
    return value;
  }
  Computed computed(const Value& value) {
    switch (value.kind) {
    case Value::Kind::number: return {{}, Arithmetic::number, false, value.number};
    case Value::Kind::index: return {"(u64)" + text(value.index), Arithmetic::whole, false};
    case Value::Kind::scalar:
      return read(fmt::format("x{}", value.scalar), resolve_type(nest_.scalars[value.scalar].type, types_),
                  false);
    case Value::Kind::element:
      return read(text(value.element), resolve_type(nest_.arrays[value.element.array].type, types_), true);
    default: break;
    }
    const Computed left = computed(value.parts[0]), right = computed(value.parts[1]);
    return operation(value.kind, left, right);
  }

  Computed operation(Value::Kind kind, const Computed& left, const Computed& right) {
    const Arithmetic arithmetic = combined(left.arithmetic, right.arithmetic);
    const char* const sign = kind == Value::Kind::sum          ? "+"
                             : kind == Value::Kind::difference ? "-"
                             : kind == Value::Kind::product    ? "*"
                                                               : "/";
    std::string x = as(left, arithmetic), y = as(right, arithmetic);
    if (!left.loaded && !right.loaded && arithmetic != Arithmetic::whole) {
      x = opaque(x, arithmetic);
      y = opaque(y, arithmetic);
    }
    const Computed result{fresh(), arithmetic, true};
    line("const {} {} = {} {} {};", c_type(arithmetic), result.name, x, sign, y);
    return result;
  }
  std::string opaque(const std::string& value, Arithmetic arithmetic) {
    const std::string copy = fresh();
    line("{} {} = {}; KEEP_F({});", c_type(arithmetic), copy, value, copy);
    return copy;
  }

  /// In the arithmetic of an operation.
  std::string as(const Computed& value, Arithmetic arithmetic) {
    if (value.arithmetic == Arithmetic::number) return number(value.number, arithmetic);
    if (value.arithmetic == arithmetic) return value.name;
    if (value.arithmetic == Arithmetic::whole)
      return fmt::format("({})(i64){}", c_type(arithmetic), value.name);
    return fmt::format("({}){}", c_type(arithmetic), value.name);
  }
  /// A floating-point number is a variable of the function: as a constant it would be loaded from memory.
  std::string number(double value, Arithmetic arithmetic) {
    if (arithmetic == Arithmetic::whole) return fmt::format("(u64){}", static_cast<std::int64_t>(value));
    const std::string type = c_type(arithmetic), constant = fmt::format("{} {:a}", type, value);
    const auto known = std::find(constants_.begin(), constants_.end(), constant);
    const auto at = known - constants_.begin();
    if (known == constants_.end()) {
      constants_.push_back(constant);
      numbers_ += fmt::format("  {} k{} = ({}){:a}; KEEP_F(k{});\n", type, at, type, value, at);
    }
    return fmt::format("k{}", at);
  }
  std::string fresh() { return fmt::format("t{}", temporaries_++); }

  const Definition& nest_;
  const Types& types_;
  std::string body_, numbers_;
  std::vector<std::string> constants_;
  std::size_t depth_ = 1, temporaries_ = 0;
};

} // namespace

std::string generate(const Definition& nest, const Types& types) {
  return Generator(nest, types).run();
}

namespace {

constexpr auto longest_compilation = std::chrono::seconds(60);

std::string first_line(const std::string& text) {
  return text.substr(0, std::min<std::size_t>(text.find('\n'), 300));
}

void compile(const std::string& code, const process::TemporaryFolder& folder, const std::string& library) {
  const auto program = compiler();
  if (!program) throw unavailable("nest", cannot_compile());
  process::Spawn spawn;
  spawn.argv = {*program};
  const auto& options = compiler_options();
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.argv.insert(spawn.argv.end(), {"-x", "c", "-", "-o", library});
  spawn.environment = {{"TMPDIR", folder.path()}};
  spawn.own_group = false; // ends with the run that started it
  const auto ended = process::capture(std::move(spawn), code, longest_compilation);
  if (!ended.exit.ok())
    throw unavailable(*program, "cannot compile the nest: " + describe(ended.exit) + "; " +
                                    first_line(ended.err.empty() ? ended.out : ended.err));
}

} // namespace

std::optional<std::string> compiler() {
  for (const char* name : {"cc", "gcc", "clang"})
    if (auto found = process::find_program(name)) return found;
  return {};
}

// No library and no header of the system is needed.
const std::vector<std::string>& compiler_options() {
  static const std::vector<std::string> options = {"-std=gnu11",
                                                   "-O2",
                                                   "-fno-tree-vectorize",
                                                   "-fno-tree-slp-vectorize",
                                                   "-fno-unroll-loops",
                                                   "-ffp-contract=off",
                                                   "-w",
                                                   "-shared",
                                                   "-fPIC",
                                                   "-nostdlib",
                                                   "-fno-stack-protector"};
  return options;
}

std::string cannot_compile() {
  return compiler() ? "" : "no C compiler in PATH: cc, gcc or clang (Debian: apt-get install gcc)";
}

CompiledNest::CompiledNest(const std::string& code) {
  const process::TemporaryFolder folder("recount-nest");
  const std::string library = folder.path() + "/nest.so";
  compile(code, folder, library);
  library_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* const reason = ::dlerror();
    throw unavailable("nest", std::string("the compiled nest cannot be loaded: ") + (reason ? reason : ""),
                      "TMPDIR", "set TMPDIR to a folder on a file system without noexec");
  }
  function_ = reinterpret_cast<Function>(::dlsym(library_, function_name));
  if (function_ == nullptr) {
    ::dlclose(library_);
    throw unavailable("nest", "the compiled nest has no function");
  }
}

CompiledNest::~CompiledNest() {
  ::dlclose(library_);
}

} // namespace recount::nest
