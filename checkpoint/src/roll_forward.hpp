#pragma once

#include <vector>

#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

/// Decides what to do with a journal that an interrupted process or machine left behind.
namespace pinfold::checkpoint {

struct RollForward {
  Contents contents;  ///< to write, sync and rename
  bool fits = true;   ///< false: set the journal aside, because another program has since written
                      ///< or removed a state file, or it names a foreign file
};

/// Compares the journal with the state files. Reads only. Errors: kIo; kCorrupt, see
/// apply_record().
[[nodiscard]] Result<RollForward> roll_forward(Fs& fs, const std::vector<Record>& journal);

}  // namespace pinfold::checkpoint
