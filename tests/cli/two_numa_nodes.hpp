#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_program.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {

/// A directory with machine.json: two NUMA nodes of 16 GiB and 8 CPUs, two per core.
class TwoNumaNodes : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome machine = run_shell(
        PINFOLD_COMMAND " topology --synthetic 'pack:2 [numa(memory=16GiB)] core:4 pu:2' -o json");
    ASSERT_EQ(machine.status, 0) << machine.err;
    dir_.write("machine.json", machine.out);
    machine_ = nlohmann::json::parse(machine.out);
  }

  TempDir dir_;
  nlohmann::json machine_;
};

}  // namespace pinfold::test
