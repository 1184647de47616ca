#pragma once

#include <vector>

#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

/// What the recovery does with a journal that an interrupted process or machine left behind.
namespace pinfold::checkpoint {

struct RollForward {
  Contents contents;  ///< to be written, synced and renamed
  bool fits = true;   ///< false: another program wrote a state file since, or removed one, or the
                      ///< journal names a file that is not ours. Set the journal aside.
};

/// Compares the journal with the state files. Reads only. Errors: kIo; kCorrupt, see
/// apply_record().
[[nodiscard]] Result<RollForward> roll_forward(Fs& fs, const std::vector<Record>& journal);

}  // namespace pinfold::checkpoint
