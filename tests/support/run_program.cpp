#include "run_program.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "temp_dir.hpp"

namespace pinfold::test {
namespace {

OutcomeCheck& outcome_check() {
  static OutcomeCheck check;
  return check;
}

}  // namespace

void set_outcome_check(OutcomeCheck check) { outcome_check() = std::move(check); }

Outcome run_shell(const std::string& command_line) {
  const TempDir dir;
  const std::string whole = "{ " + command_line + "\n} > " + (dir / "out") + " 2> " + (dir / "err");
  const int status = std::system(whole.c_str());
  const auto content = [&](const std::string& name) {
    std::ifstream in(dir / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content("out"),
                  content("err")};
  if (outcome_check()) outcome_check()(command_line, outcome);
  return outcome;
}

}  // namespace pinfold::test
