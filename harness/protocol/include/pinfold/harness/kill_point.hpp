#pragma once

#include <string>

namespace pinfold::harness {

/// Where to kill a program with SIGKILL: just before one of its system calls on files.
struct KillPoint {
  std::string call;  ///< "rename"; "": any call that the guest agent knows (trace.cpp)
  std::string file;  ///< a suffix of the file's path; "": any file
  int number = 1;    ///< which of the matching calls, counted from 1
};

}  // namespace pinfold::harness
