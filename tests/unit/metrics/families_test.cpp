#include "pinfold/metrics/families.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

#include "node_fixture.hpp"

namespace pinfold::metrics {
namespace {

using std::chrono::milliseconds;
using test::aligning_config;
using test::container;
using test::pod_of;
using test::TestNode;
using test::with_memory_manager;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

std::string text(const Node& node, const worker::Snapshot& snapshot, std::size_t waiting = 0) {
  return prometheus::TextSerializer().Serialize(service_families(node, snapshot, waiting));
}

TEST(LargestFree, IsThatOfTheFreestNumaNode) {
  TestNode node({2, 4, 4}, with_memory_manager(aligning_config("single-numa-node")));
  EXPECT_EQ(largest_free(node.node(), node.state()).cpus, 4U) << "CPU 0 is reserved";
  EXPECT_EQ(largest_free(node.node(), node.state()).memory, 4 * kGib);
  ASSERT_EQ(node.admit(pod_of("a", {container("c", {{"cpu", "3"}, {"memory", "2Gi"}})})), "");
  ASSERT_EQ(node.cpu_nodes("a"), "0");
  ASSERT_EQ(node.admit(pod_of("b", {container("c", {{"cpu", "1"}, {"memory", "3Gi"}})})), "");
  EXPECT_EQ(largest_free(node.node(), node.state()).cpus, 3U);
  EXPECT_EQ(largest_free(node.node(), node.state()).memory, kGib);
  EXPECT_NE(node.admit(pod_of("d", {container("c", {{"cpu", "4"}, {"memory", "1Mi"}})})), "");
}

TEST(LargestFree, CountsNoMemoryOfGroups) {
  TestNode node({3, 4, 4}, with_memory_manager(aligning_config("best-effort")));
  ASSERT_EQ(node.admit(pod_of("a", {container("c", {{"cpu", "1"}, {"memory", "5Gi"}})})), "");
  EXPECT_EQ(largest_free(node.node(), node.state()).memory, 4 * kGib) << "that of NUMA node 2";
}

TEST(ServiceFamilies, WithoutStaticManagersThereIsNoFragmentation) {
  const auto node = Node::make(test::machine_of({}), Config{}).value();
  worker::Snapshot snapshot;
  snapshot.state.node = empty_state(node);
  EXPECT_THAT(text(node, snapshot), Not(HasSubstr("pinfold_largest_free")));
  const LargestFree none = largest_free(node, snapshot.state.node);
  EXPECT_EQ(none.cpus, 0U);
  EXPECT_EQ(none.memory, 0U);
}

/// The metric names of `pinfold metrics` with this profile.
std::vector<std::string> names_of(Profile profile) {
  Config config = aligning_config("single-numa-node");
  config.profile = profile;
  TestNode node({2, 4, 4}, with_memory_manager(config));
  EXPECT_EQ(node.admit(pod_of("a", {container("c", {{"cpu", "2"}, {"memory", "2Gi"}})})), "");
  std::vector<std::string> names;
  for (const auto& family : node_families(node.node(), node.state(), {})) {
    names.push_back(family.name);
  }
  return names;
}

// No kubelet up to 1.38.0-alpha.2 renames them. One that does needs a separate list here.
TEST(NodeFamilies, HaveTheNamesOfTheKubeletOfTheProfile) {
  const std::vector<std::string> of_136 = {
      "kubelet_container_aligned_compute_resources_count",
      "kubelet_container_aligned_compute_resources_failure_count",
      "kubelet_cpu_manager_allocation_per_numa",
      "kubelet_cpu_manager_exclusive_cpu_allocation_count",
      "kubelet_cpu_manager_pinning_errors_total",
      "kubelet_cpu_manager_pinning_requests_total",
      "kubelet_cpu_manager_shared_pool_size_millicores",
      "kubelet_memory_manager_pinning_errors_total",
      "kubelet_memory_manager_pinning_requests_total",
      "kubelet_topology_manager_admission_duration_ms",
      "kubelet_topology_manager_admission_errors_total",
      "kubelet_topology_manager_admission_requests_total",
  };
  for (const Profile profile : kProfiles) {
    EXPECT_EQ(names_of(profile), of_136) << to_string(profile);
  }
}

TEST(ServiceFamilies, HaveWhatWasCounted) {
  const TestNode node({}, aligning_config("none"));
  worker::Snapshot snapshot;
  snapshot.state.node = node.state();
  snapshot.state.node.held.insert(PodUid("h"));
  auto& counted = snapshot.counters;
  counted.requests = 11;
  counted.expired = 12;
  counted.busy = 13;
  counted.admit_rounds = 14;
  counted.reconciliations = 15;
  counted.drifts = 16;
  counted.repaired = 17;
  counted.overlaps = 19;
  counted.admissions.observe(milliseconds(2));
  counted.admissions.observe(milliseconds(7'000));
  snapshot.timings.commits.observe(milliseconds(4));
  snapshot.timings.enforcements.observe(milliseconds(40));
  snapshot.not_settled.emplace();
  agent::ReconcileReport report;
  report.remaining = {"a", "b"};
  report.notes = {"c", "d", "e"};
  report.narrowed = {"b"};
  snapshot.reconciled.emplace(report);
  const std::string printed = text(node.node(), snapshot, 18);
  for (const char* const line : {"pinfold_requests_total 11",
                                 "pinfold_requests_expired_total 12",
                                 "pinfold_requests_refused_total 13",
                                 "pinfold_admission_transactions_total 14",
                                 "pinfold_reconciliations_total 15",
                                 "pinfold_drift_found_total 16",
                                 "pinfold_drift_repaired_total 17",
                                 "pinfold_overlap_found_total 19",
                                 "pinfold_requests_waiting 18",
                                 "pinfold_held_pods 1",
                                 "pinfold_pods 0",
                                 "pinfold_not_settled 1",
                                 "pinfold_drift_remaining 2",
                                 "pinfold_affinity_limited_containers 3",
                                 "pinfold_narrowed_containers 1",
                                 "pinfold_admission_transaction_seconds_bucket{le=\"0.001\"} 0",
                                 "pinfold_admission_transaction_seconds_bucket{le=\"0.0025\"} 1",
                                 "pinfold_admission_transaction_seconds_bucket{le=\"5\"} 1",
                                 "pinfold_admission_transaction_seconds_bucket{le=\"+Inf\"} 2",
                                 "pinfold_admission_transaction_seconds_sum 7.002",
                                 "pinfold_commit_seconds_bucket{le=\"0.0025\"} 0",
                                 "pinfold_commit_seconds_bucket{le=\"0.005\"} 1",
                                 "pinfold_commit_seconds_count 1",
                                 "pinfold_enforcement_seconds_bucket{le=\"0.025\"} 0",
                                 "pinfold_enforcement_seconds_bucket{le=\"0.05\"} 1",
                                 "pinfold_enforcement_seconds_sum 0.04"}) {
    EXPECT_THAT(printed, HasSubstr(std::string(line) + "\n")) << printed;
  }
}

TEST(NoiseFamilies, CountOnlyTheGivenCpus) {
  noise::NoiseSample counters;
  counters.interrupts = {{CpuId{1}, CpuId{2}},
                         {{"24", "nvme", {9, 5}}, {"25", "eth0", {0, 1}}, {"LOC", "", {8, 7}}}};
  counters.lost[CpuId{1}] = {};
  counters.lost[CpuId{2}] = {std::chrono::microseconds(1'500'000), {}, {}};
  counters.runs = {{CpuId{1}, 3}, {CpuId{2}, 4}};
  const std::string printed =
      prometheus::TextSerializer().Serialize(noise_families(counters, CpuSet{2}));
  for (const char* const line :
       {"pinfold_noise_interrupts_total{cpu=\"2\",kind=\"interrupt\"} 6",
        "pinfold_noise_interrupts_total{cpu=\"2\",kind=\"timer\"} 7",
        "pinfold_noise_interrupts_total{cpu=\"2\",kind=\"kernel-interrupt\"} 0",
        "pinfold_noise_lost_seconds_total{cpu=\"2\",kind=\"interrupt\"} 1.5",
        "pinfold_noise_runs_total{cpu=\"2\"} 4"}) {
    EXPECT_THAT(printed, HasSubstr(std::string(line) + "\n")) << printed;
  }
  EXPECT_THAT(printed, Not(HasSubstr("cpu=\"1\"")));
  EXPECT_TRUE(noise_families(counters, {}).empty());
}

TEST(MemoryFamilies, HaveEachNumaNode) {
  forecast::MemoryOutlook outlook;
  outlook.numa = {{NumaId{0}, 4096, 2048}, {NumaId{1}, 4096, 1024}};
  forecast::Forecast one{forecast::Forecast::Kind::kNumaNodes, CpuSet{1}};
  one.in = forecast::Seconds(40);
  forecast::Forecast both{forecast::Forecast::Kind::kNumaNodes, CpuSet{1, 2}};
  both.in = forecast::Seconds(30);
  outlook.forecasts = {both, one};
  outlook.alarms = 2;
  const std::string printed = prometheus::TextSerializer().Serialize(memory_families(outlook));
  for (const char* const line : {"pinfold_memory_alarms_total 2",
                                 "pinfold_numa_memory_available_bytes{numa_node=\"1\"} 1024",
                                 "pinfold_numa_memory_exhaustion_seconds{numa_node=\"0\"} +Inf",
                                 "pinfold_numa_memory_exhaustion_seconds{numa_node=\"1\"} 30"}) {
    EXPECT_THAT(printed, HasSubstr(std::string(line) + "\n")) << printed;
  }
  EXPECT_THAT(prometheus::TextSerializer().Serialize(memory_families({})),
              Not(HasSubstr("numa_node")));
}

TEST(QuietFamilies, PrintWhatWasDone) {
  quiet::QuietReport report;
  report.written = 7;
  report.taken = 2;
  const Error error{ErrorCode::kIo, 5, "managed"};
  report.unquiet = {{{quiet::KnobKind::kInterrupt, "24"}, {error, CpuSet{2}}},
                    {{quiet::KnobKind::kInterrupt, "25"}, {error, CpuSet{2}}}};
  report.unread = {{quiet::KnobKind::kUnit, error}};
  const std::string printed = prometheus::TextSerializer().Serialize(quiet_families(report));
  for (const char* const line :
       {"pinfold_noise_written_total 7", "pinfold_noise_rewritten_total 2",
        "pinfold_noise_unmovable{kind=\"interrupt\"} 2",
        "pinfold_noise_unmovable{kind=\"workqueue\"} 0", "pinfold_noise_unread_kinds 1"}) {
    EXPECT_THAT(printed, HasSubstr(std::string(line) + "\n")) << printed;
  }
}

TEST(RuntimeFamilies, PrintWhatWasCounted) {
  worker::RuntimeCounters counted;
  counted.is_connected = true;
  counted.is_healthy = false;
  counted.runtime_overlap = 8;
  counted.kubelet_is_static = true;
  counted.connections = 2;
  counted.found_unpinned = 3;
  counted.unpinned_seconds = 4.5;
  counted.stopped = 5;
  counted.start_refusals = 6;
  counted.create_refusals = 7;
  counted.resize_refusals = 8;
  counted.reverted = 9;
  counted.differences = 10;
  counted.answers.observe(milliseconds(20));
  const std::string printed = prometheus::TextSerializer().Serialize(runtime_families(counted));
  for (const char* const line :
       {"pinfold_nri_connected 1", "pinfold_nri_healthy 0", "pinfold_nri_runtime_overlap_cpus 8",
        "pinfold_nri_kubelet_static 1", "pinfold_nri_connections_total 2",
        "pinfold_nri_unpinned_containers_total 3", "pinfold_nri_unpinned_seconds_total 4.5",
        "pinfold_nri_stopped_total 5", "pinfold_nri_starts_refused_total 6",
        "pinfold_nri_creations_refused_total 7", "pinfold_nri_resizes_refused_total 8",
        "pinfold_nri_reverted_total 9", "pinfold_nri_differences 10",
        "pinfold_nri_answer_seconds_bucket{le=\"0.01\"} 0",
        "pinfold_nri_answer_seconds_bucket{le=\"0.025\"} 1"}) {
    EXPECT_THAT(printed, HasSubstr(std::string(line) + "\n")) << printed;
  }
}

TEST(PublishFamilies, AreTheCounters) {
  const publish::PublishCounters counted{1, 2, 3, 4, 5, true};
  const std::string printed = prometheus::TextSerializer().Serialize(publish_families(counted));
  for (const char* const line :
       {"pinfold_publish_topologies_total 1", "pinfold_publish_placements_total 2",
        "pinfold_publish_failures_total 3", "pinfold_publish_rejections_total 4",
        "pinfold_publish_pending 5", "pinfold_publish_foreign 1"}) {
    EXPECT_THAT(printed, HasSubstr(std::string(line) + "\n")) << printed;
  }
}

TEST(ServiceFamilies, AFailedReconciliationLeavesSomething) {
  const TestNode node({}, aligning_config("none"));
  worker::Snapshot snapshot;
  snapshot.state.node = node.state();
  EXPECT_THAT(text(node.node(), snapshot), HasSubstr("pinfold_drift_remaining 0\n"));
  snapshot.reconciled.emplace(fail(ErrorCode::kIo, "unreadable"));
  EXPECT_THAT(text(node.node(), snapshot), HasSubstr("pinfold_drift_remaining 1\n"));
}

TEST(ServiceFamilies, AreInTheOrderOfTheirNames) {
  const TestNode node({}, with_memory_manager(aligning_config("none")));
  worker::Snapshot snapshot;
  snapshot.state.node = node.state();
  const auto families = service_families(node.node(), snapshot, 0);
  EXPECT_TRUE(std::is_sorted(families.begin(), families.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

}  // namespace
}  // namespace pinfold::metrics
