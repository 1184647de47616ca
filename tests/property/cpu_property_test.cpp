#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <span>

#include "../support/cpu_fixture.hpp"
#include "draw.hpp"
#include "pinfold/types/choices.hpp"

// Invariants of the static policy, over random machines and random sequences of pods.
namespace pinfold::test {
namespace {

bool toss() { return draw(0, 1) == 1; }

Shape any_shape() {
  while (true) {
    Shape shape;
    shape.sockets = draw(1, 4);
    shape.numa_per_socket = draw(1, 4);
    shape.caches_per_numa = draw(1, 4);
    shape.cores_per_cache = draw(1, 16);
    shape.threads = 1 << draw(0, 2);
    shape.adjacent = toss();
    if (shape.cpus() >= 2 && shape.cpus() <= 512) return shape;
  }
}

/// Some CPUs offline, sockets of unequal size: cases in which averages mislead.
MachineDescription any_uneven_machine() {
  MachineDescription description = describe(any_shape());
  std::vector<Cpu> kept;
  for (const Cpu& cpu : description.cpus) {
    if (draw(0, 9) > 0) kept.push_back(cpu);
  }
  if (kept.size() >= 2) description.cpus = kept;
  std::map<CoreId, CpuId> lowest;  // a core is named after its lowest CPU that is online
  for (const Cpu& cpu : description.cpus) lowest.emplace(cpu.core, cpu.id);
  for (Cpu& cpu : description.cpus) cpu.core = CoreId{lowest[cpu.core].value};
  return description;
}

/// Sockets and NUMA nodes that cross: each can span several of the other.
MachineDescription any_crossed_machine() {
  MachineDescription description = describe(any_shape());
  const int sockets = draw(1, 4);
  const auto nodes = static_cast<int>(description.numa_nodes.size());
  const int run = draw(1, 4);  // cores in a row that stay together
  std::map<CoreId, std::pair<SocketId, NumaId>> of_core;
  for (Cpu& cpu : description.cpus) {
    const CoreId first{cpu.core.value / run};
    const auto [at, is_new] = of_core.try_emplace(first);
    if (is_new) at->second = {SocketId{draw(0, sockets - 1)}, NumaId{draw(0, nodes - 1)}};
    std::tie(cpu.socket, cpu.numa) = at->second;
  }
  return description;
}

/// A valid combination of options.
Options any_options() {
  Options options;
  if (toss()) options["strict-cpu-reservation"] = "true";
  switch (draw(0, 4)) {
    case 0:
      options["distribute-cpus-across-cores"] = "true";
      return options;
    case 1:
      options["distribute-cpus-across-numa"] = "true";
      break;
    case 2:
      options["prefer-align-cpus-by-uncorecache"] = "true";
      break;
    default:
      break;
  }
  if (toss()) options["full-pcpus-only"] = "true";
  return options;
}

NodeReservation any_reservation(const Machine& machine) {
  const auto cpus = static_cast<int>(machine.cpus().size());
  const int count = draw(1, std::max(1, std::min(8, cpus / 4)));
  if (toss()) return reserve_count(count * 1000 - draw(0, 999));
  CpuSet set;
  while (static_cast<int>(set.size()) < count) {
    set.insert(machine.cpus()[static_cast<std::size_t>(draw(0, cpus - 1))].id);
  }
  return reserve_set(set);
}

PodSpec any_pod(int number, int largest) {
  PodSpec pod = pod_of("pod-" + std::to_string(number), {});
  const int containers = draw(1, 3);
  for (int i = 0; i < containers; ++i) {
    const ContainerKind kind =
        i + 1 == containers ? ContainerKind::kApp : ContainerKind{draw(0, 2)};
    const std::int64_t milli = draw(0, 5) == 0 ? 1500 : std::int64_t{draw(1, largest)} * 1000;
    pod.containers.push_back(exclusive("c" + std::to_string(i), milli, kind));
  }
  std::stable_partition(pod.containers.begin(), pod.containers.end(),
                        [](const Container& c) { return c.kind != ContainerKind::kApp; });
  return pod;
}

/// One of the hints that the manager itself returns, or none.
TopologyHint any_affinity(const Rig& rig, const PodSpec& pod, const Container& container) {
  const ResourceHints hints = rig.manager().container_hints(rig.state, pod, container);
  const auto cpu = hints.find("cpu");
  if (cpu == hints.end() || cpu->second->empty() || toss()) return {};
  return (
      *cpu->second)[static_cast<std::size_t>(draw(0, static_cast<int>(cpu->second->size()) - 1))];
}

/// Checks that every CPU is in the default set, or assigned to one pod, or reserved and in neither.
void check_sound(const Rig& rig) {
  const CpuManager& manager = rig.manager();
  CpuSet exclusive_cpus;
  std::size_t count = 0;
  for (const auto& [uid, containers] : rig.state.assignments.by_pod()) {
    CpuSet of_pod;  // a pod's containers may share: later ones reuse the CPUs of init containers
    for (const auto& [name, cpus] : containers) of_pod |= cpus;
    RC_ASSERT(!of_pod.intersects(manager.reserved()));
    RC_ASSERT(!of_pod.intersects(rig.state.default_set));
    exclusive_cpus |= of_pod;
    count += of_pod.size();
  }
  RC_ASSERT(exclusive_cpus.size() == count);
  const CpuSet usable =
      manager.options().strict_cpu_reservation ? manager.allocatable() : rig.machine().all_cpus();
  RC_ASSERT((exclusive_cpus | rig.state.default_set) == usable);
}

/// Admits and removes pods at random; calls check(rig) after each step.
template <class Check>
void live(Rig& rig, int steps, Check check) {
  const auto cpus = static_cast<int>(rig.machine().cpus().size());
  std::vector<PodSpec> pods;
  for (int step = 0; step < steps; ++step) {
    if (pods.empty() || draw(0, 2) > 0) {
      PodSpec pod = any_pod(step, std::max(1, cpus / draw(1, 8)));
      const CpuState before = rig.state;
      for (const Container& container : pod.containers) {
        const auto done = rig.manager().allocate(rig.state, pod, container,
                                                 any_affinity(rig, pod, container), {});
        if (done) continue;
        rig.state = before;
        break;
      }
      if (rig.state != before) pods.push_back(std::move(pod));
    } else {
      const auto victim = pods.begin() + draw(0, static_cast<int>(pods.size()) - 1);
      for (const Container& container : victim->containers) {
        rig.manager().remove_container(rig.state, {victim->uid, container.name});
      }
      pods.erase(victim);
    }
    check(rig);
  }
  for (const PodSpec& pod : pods) {
    for (const Container& container : pod.containers) {
      rig.manager().remove_container(rig.state, {pod.uid, container.name});
    }
  }
}

Rig any_rig(MachineDescription description, const Options& options, Profile profile) {
  Machine machine = machine_of(std::move(description));
  const NodeReservation reservation = any_reservation(machine);
  RC_LOG() << machine.sockets().size() << " sockets, " << machine.numa_count() << " NUMA nodes, "
           << machine.cores().size() << " cores, " << machine.cpus().size() << " CPUs; reserved "
           << reservation.amounts.at("cpu").to_string() << " [" << reservation.cpus.to_string()
           << "]\n";
  for (const auto& [name, value] : options) RC_LOG() << "  " << name << "\n";
  return {std::move(machine), static_policy(options, profile), reservation};
}

RC_GTEST_PROP(CpuProperty, EveryCpuHasOneOwner, ()) {
  const Profile profile = toss() ? Profile::kFixed : Profile::kKubelet136;
  Rig rig = any_rig(describe(any_shape()), any_options(), profile);
  live(rig, 12, check_sound);
}

RC_GTEST_PROP(CpuProperty, EveryCpuHasOneOwnerOnUnevenMachines, ()) {
  Rig rig = any_rig(any_uneven_machine(), any_options(), Profile::kFixed);
  live(rig, 12, check_sound);
}

RC_GTEST_PROP(CpuProperty, WhatFitsIsTakenExactlyOnCrossedMachines, ()) {
  Options options = any_options();
  options.erase("full-pcpus-only");  // with it, free CPUs can be parts of cores
  Rig rig = any_rig(any_crossed_machine(), options, Profile::kFixed);
  for (int i = 0; i < 12; ++i) {
    const CpuSet free = rig.state.default_set - rig.manager().reserved();
    if (free.empty()) return;
    const int count = draw(1, static_cast<int>(free.size()));
    const PodSpec pod = pod_with("pod-" + std::to_string(i), count);
    const auto done = rig.manager().allocate(rig.state, pod, pod.containers[0], {}, nullptr);
    RC_ASSERT(done.has_value());
    const CpuSet* const taken = rig.state.assignments.find({pod.uid, pod.containers[0].name});
    RC_ASSERT(taken != nullptr && static_cast<int>(taken->size()) == count);
    check_sound(rig);
  }
}

RC_GTEST_PROP(CpuProperty, RemovalRestores, ()) {
  Rig rig = any_rig(describe(any_shape()), any_options(), Profile::kFixed);
  const CpuState before = rig.state;
  live(rig, 10, [](const Rig&) {});
  RC_ASSERT(rig.state.default_set == before.default_set);
  RC_ASSERT(rig.state.assignments.empty());
}

RC_GTEST_PROP(CpuProperty, SameInputGivesSameOutput, ()) {
  Rig rig = any_rig(describe(any_shape()), any_options(), Profile::kFixed);
  live(rig, 5, [](const Rig& at) {
    const PodSpec pod = pod_with("again", draw(1, static_cast<int>(at.machine().cpus().size())));
    CpuState one = at.state;
    CpuState other = at.state;
    Trace trace;
    const auto quiet = at.manager().allocate(one, pod, pod.containers[0], {}, nullptr);
    const auto told = at.manager().allocate(other, pod, pod.containers[0], {}, &trace);
    RC_ASSERT(quiet.has_value() == told.has_value());
    if (!quiet) RC_ASSERT(quiet.error().message == told.error().message);
    RC_ASSERT(one == other);
  });
}

RC_GTEST_PROP(CpuProperty, FullPcpusOnlyNeverSplitsACore, ()) {
  Options options = any_options();
  options.erase("distribute-cpus-across-cores");
  options["full-pcpus-only"] = "true";
  Rig rig = any_rig(describe(any_shape()), options, Profile::kFixed);
  live(rig, 12, [](const Rig& at) {
    for (const auto& entry : at.state.assignments) {
      for (const Machine::Group& core : at.machine().cores()) {
        RC_ASSERT(!entry.value.intersects(core.cpus) || entry.value.contains_all(core.cpus));
      }
    }
  });
}

/// Resizes one container several times, in a pod with only this container.
void resize_one(Rig& rig, const ContainerId& id, bool has_whole_cores) {
  const CpuManager& manager = rig.manager();
  const CpuSet baseline = *baseline_of(rig.state, id);
  for (int i = 0; i < 4; ++i) {
    const CpuState before = rig.state;
    const CpuSet had = *before.assignments.find(id);
    const CpuSet free = before.default_set - manager.reserved();
    const auto least = static_cast<int>(baseline.size());
    const int count = draw(least, static_cast<int>(had.size() + free.size()) + 1);
    const PodSpec pod = pod_of(id.pod.value, {exclusive(id.name, std::int64_t{count} * 1000)});
    const ResourceHints hints =
        manager.container_hints(before, pod, pod.containers[0], CpuRequestKind::kResize);
    const std::vector<TopologyHint>& list = *hints.at("cpu");
    TopologyHint affinity;
    if (!list.empty() && toss()) {
      affinity = list[static_cast<std::size_t>(draw(0, static_cast<int>(list.size()) - 1))];
    }
    const auto done = manager.resize(rig.state, pod, pod.containers[0], affinity, nullptr);
    if (!done) {
      RC_ASSERT(rig.state == before);
      const bool has_room = count <= static_cast<int>(had.size() + free.size());
      RC_ASSERT(has_whole_cores || !has_room);
      continue;
    }
    const CpuSet now = *rig.state.assignments.find(id);
    RC_ASSERT(static_cast<int>(now.size()) == count);
    RC_ASSERT(now.contains_all(baseline));
    RC_ASSERT(now.contains_all(had) || had.contains_all(now));
    RC_ASSERT(*baseline_of(rig.state, id) == baseline);
    CpuState started = rig.state;
    RC_ASSERT(manager.start(started).has_value());
    check_sound(rig);
  }
}

// As few CPUs as possible change owners: a container that grows keeps all that it has, one that
// shrinks gets no other.
RC_GTEST_PROP(CpuProperty, AResizeMovesTheFewestCpusAndNoneOfTheBaseline, ()) {
  const Options options = any_options();
  const bool has_whole_cores = options.contains("full-pcpus-only");
  Rig rig =
      any_rig(toss() ? describe(any_shape()) : any_uneven_machine(), options, Profile::kFixed);
  for (int i = 0; i < 4; ++i) {
    const PodSpec pod = any_pod(i, std::max(1, static_cast<int>(rig.machine().cpus().size()) / 6));
    for (const Container& container : pod.containers) {
      if (!rig.manager().allocate(rig.state, pod, container, {}, nullptr)) break;
    }
  }
  std::vector<ContainerId> all;
  for (const auto& entry : rig.state.assignments) all.push_back(entry.id());
  for (const ContainerId& id : all) resize_one(rig, id, has_whole_cores);
}

/// Calls `visit` with each set of `count` CPUs of `from` that has all of `kept` and some others.
template <class Visit>
void for_each_set(const CpuSet& from, const CpuSet& kept, int count, Visit visit) {
  const CpuSet others = from - kept;
  const std::vector<CpuId> list(others.begin(), others.end());
  const int missing = count - static_cast<int>(kept.size());
  for_each_choice(static_cast<int>(list.size()), missing, [&](std::span<const int> members) {
    CpuSet set = kept;
    for (const int member : members) set.insert(list[static_cast<std::size_t>(member)]);
    visit(set);
    return Enumeration::kContinue;
  });
}

/// Returns the number of groups of which the set contains some CPUs but not all.
std::size_t count_split(const std::vector<Machine::Group>& groups, const CpuSet& cpus) {
  return static_cast<std::size_t>(
      std::count_if(groups.begin(), groups.end(), [&](const Machine::Group& group) {
        return cpus.intersects(group.cpus) && !cpus.contains_all(group.cpus);
      }));
}

std::size_t count_numa_nodes(const Machine& machine, const CpuSet& cpus) {
  return static_cast<std::size_t>(
      std::count_if(machine.numa_groups().begin(), machine.numa_groups().end(),
                    [&](const Machine::Group& group) { return cpus.intersects(group.cpus); }));
}

std::size_t count_moved(const CpuSet& before, const CpuSet& after) {
  return (before - after).size() + (after - before).size();
}

// Against every set that the container could have instead.
RC_GTEST_PROP(CpuProperty, NoChoiceForAResizeMovesFewerCpusOrSplitsLess, ()) {
  Shape shape;
  shape.sockets = draw(1, 2);
  shape.caches_per_numa = draw(1, 2);
  shape.cores_per_cache = draw(1, 6 / (shape.sockets * shape.caches_per_numa));
  shape.adjacent = toss();
  Rig rig = any_rig(describe(shape), {}, Profile::kFixed);
  for (int i = 0; i < 3; ++i) rig.admit("pod-" + std::to_string(i), draw(1, 3));
  if (rig.state.assignments.empty()) return;
  const ContainerId id = (*rig.state.assignments.begin()).id();
  const CpuSet baseline = *baseline_of(rig.state, id);
  for (int i = 0; i < 4; ++i) {
    const CpuSet had = *rig.state.assignments.find(id);
    const CpuSet from = had | (rig.state.default_set - rig.manager().reserved());
    const int count = draw(static_cast<int>(baseline.size()), static_cast<int>(from.size()));
    const PodSpec pod = pod_with(id.pod.value, count);
    RC_ASSERT(rig.manager().resize(rig.state, pod, pod.containers[0], {}, nullptr).has_value());
    const CpuSet now = *rig.state.assignments.find(id);
    const auto cost = [&](const CpuSet& cpus) {
      return std::tuple(count_moved(had, cpus), count_split(rig.machine().cores(), cpus),
                        count_numa_nodes(rig.machine(), cpus),
                        count_split(rig.machine().caches(), cpus));
    };
    RC_LOG() << had.to_string() << " of " << from.to_string() << " with " << baseline.to_string()
             << " becomes " << now.to_string() << "\n";
    for_each_set(from, baseline, count, [&](const CpuSet& choice) {
      if (cost(choice) < cost(now)) RC_FAIL(choice.to_string() + " would be better");
    });
  }
}

RC_GTEST_PROP(CpuProperty, RestartAcceptsItsState, ()) {
  Rig rig = any_rig(describe(any_shape()), any_options(), Profile::kFixed);
  live(rig, 10, [](const Rig& at) {
    CpuState state = at.state;
    RC_ASSERT(at.manager().start(state).has_value());
    RC_ASSERT(state.default_set == at.state.default_set);
    RC_ASSERT(state.assignments == at.state.assignments);
  });
}

RC_GTEST_PROP(CpuProperty, HintsHoldTheRequestAndNothingNarrowerIsPreferred, ()) {
  Rig rig = any_rig(describe(any_shape()), any_options(), Profile::kFixed);
  live(rig, 6, [](const Rig& at) {
    const int count = draw(1, static_cast<int>(at.machine().cpus().size()));
    const auto hints = at.manager().pod_hints(at.state, pod_with("new", count));
    int narrowest = NumaMask::kMaxNodes;
    for (const TopologyHint& hint : *hints.at("cpu")) {
      const CpuSet cpus = at.machine().cpus_of_numa(*hint.numa);
      RC_ASSERT(static_cast<int>((at.state.default_set & cpus).size()) >= count);
      narrowest = std::min(narrowest, hint.numa->count());
      RC_ASSERT(!hint.preferred || hint.numa->count() == narrowest);
    }
  });
}

}  // namespace
}  // namespace pinfold::test
