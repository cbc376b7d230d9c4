#include "random_table.hpp"

namespace recount::test {
namespace {

using Words = std::vector<std::string>;

const Words presets = {"PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_L1_ICM",
                       "PAPI_L1_TCM",  "PAPI_TLB_DM",  "PAPI_TLB_IM", "PAPI_TLB_TL",
                       "PAPI_BR_INS",  "PAPI_REF_CYC", "PAPI_NEW_A",  "PAPI_NEW_B"};
const Words good = {"perf::PAGE-FAULTS",      "perf::TASK-CLOCK",   "perf::CPU-CLOCK",
                    "perf::MAJOR-FAULTS",     "perf::MINOR-FAULTS", "perf::CONTEXT-SWITCHES",
                    "perf::CPU-MIGRATIONS",   "perf::page-faults",  "perf_event:::perf::TASK-CLOCK",
                    "perf::ALIGNMENT-FAULTS", "PAGE-FAULTS",        "perf::MINOR-FAULTS:u=1"};
const Words bad = {"NOPE",
                   "perf::NOPE",
                   "PERF::PAGE-FAULTS",
                   "perf::PAGE-FAULTS:zz",
                   "perf::PAGE-FAULTS:U=1",
                   "perf::PAGE-FAULTS:u=1:u=1",
                   "perf::MINOR-FAULTS:k=1:k=0", // refused by libpfm4; often, so that it comes twice
                   "perf::MINOR-FAULTS:k=1:k=0",
                   "perf::MINOR-FAULTS:k=1:k=0",
                   "perf::MINOR-FAULTS:k=1:k=0",
                   "perf_event_uncore:::x",
                   "perf::PAGE-FAULTS\r"};
const Words types = {"NOT_DERIVED",    "DERIVED_ADD",  "DERIVED_SUB",     "DERIVED_PS",
                     "DERIVED_ADD_PS", "DERIVED_CMPD", "DERIVED_POSTFIX", "DERIVED_INFIX"};

class Writer {
public:
  Writer(std::mt19937& random, std::string cpu, int type)
      : random_(random), cpu_(std::move(cpu)), type_(type) {}

  std::string table() {
    careful_ = chance(70); // most tables must survive loading, or little else would be compared
    std::string text = header();
    for (int rows = below(14) + 2; rows > 0; --rows)
      text += line() + (chance(2) ? "\r\n" : "\n");
    return text;
  }

private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }
  const std::string& any(const Words& words) {
    return words[static_cast<std::size_t>(below(static_cast<int>(words.size())))];
  }
  std::string blanks() { return chance(4) ? (chance(50) ? " " : "\t ") : ""; }

  std::string header() {
    if (chance(6)) return "CPU," + cpu_ + "," + std::to_string(type_ + (chance(50) ? 1 : 0)) + "\n";
    if (chance(6)) return "CPU,other\nCPU," + cpu_ + "\n";
    if (chance(4)) return "cpu , " + cpu_ + " \n";
    return "CPU," + cpu_ + "\n";
  }
  std::string line() {
    if (chance(3)) return "# a comment, with commas";
    if (chance(3)) return chance(50) ? "CPU," + cpu_ : "CPU,other";
    if (chance(3))
      return any({"", " ", ",,,", "CPU", "PRESET", "EVENT,", "nonsense,x", "#PRESET,PAPI_L1_DCM"});
    if (chance(1)) return std::string("PRESET,PAPI_L1_DCM\0,NOT_DERIVED,perf::PAGE-FAULTS", 46);
    return row();
  }
  std::string row() {
    std::string text = blanks() + any({"PRESET", "PRESET", "PRESET", "EVENT", "preset"}) + "," + blanks();
    text += chance(4) ? "papi_l1_dcm" : any(presets);
    if (!careful_ && chance(2)) return text;
    const std::string type =
        !careful_ && chance(3) ? any({"FOO", " ", "DERIVED", "NOT_DERIVED\r"}) : any(types);
    text += (chance(2) ? ",," : ",") + (chance(4) ? "derived_add" : type) + blanks();
    if (type == "DERIVED_POSTFIX" && !(chance(2) && !careful_)) text += "," + postfix();
    if (type == "DERIVED_INFIX" && !(chance(2) && !careful_)) text += "," + infix();
    for (int n = chance(6) ? below(11) : below(3) + 1; n > 0; --n)
      text += "," + term();
    if (chance(8)) text += any({",NOTE,\"text\"", ",note,'a, b'", ",LDESC,long text,SDESC,brief", ",NOTE"});
    if (chance(2)) text += "," + any(good);
    return text;
  }
  std::string term() {
    if (chance(14)) return any(presets);
    if (chance(careful_ ? 2 : 5)) return any(bad);
    if (chance(1)) return " ";
    return any(good) + blanks();
  }
  std::string operand() {
    if (chance(70)) return "N" + std::to_string(chance(90) ? below(3) : below(10));
    if (chance(8)) return "#";
    if (chance(3)) return any({"N", "99999999999", "1234567890123456", "N00", "007"});
    return std::to_string(below(9));
  }
  std::string postfix() {
    std::string text;
    int depth = 0;
    for (int n = below(9) + 1; n > 0; --n) {
      const bool push = depth < 2 || chance(45);
      text += (push ? operand() : any({"+", "-", "*", "/"})) + (chance(90) ? "|" : "");
      depth += push ? 1 : -1;
    }
    for (; depth > 1 && !chance(4); --depth)
      text += any({"+|", "-|", "*|", "/|"});
    if (chance(3)) text += any({"^", " ", "%", "(", "x", "|+|", "+"});
    return text;
  }
  std::string infix(int depth = 0) {
    std::string text = depth < 3 && chance(25) ? "(" + infix(depth + 1) + ")" : operand();
    for (int n = below(3); n > 0; --n) {
      text +=
          any({"+", "-", "*", "/", "+", "-", "*", "/", "-", chance(20) ? "%" : "/", chance(20) ? "^" : "-"});
      text += depth < 3 && chance(25) ? "(" + infix(depth + 1) + ")" : operand();
    }
    if (chance(2)) text += any({" ", "(", careful_ ? "" : ")", " + N1", "|"});
    return text;
  }

  std::mt19937& random_;
  std::string cpu_;
  int type_;
  bool careful_ = true;
};

} // namespace

RandomTable random_table(std::mt19937& random, const std::string& cpu, int type) {
  return {Writer(random, cpu, type).table(), presets};
}

} // namespace recount::test
