#pragma once

/// Answers of kubelet 1.36.2 (the payloads of its messages, in hexadecimal) and its state files at
/// that time, on a node with 8 CPUs: 2 sockets of 2 cores with 2 threads, NUMA node 0 with CPUs
/// 0-3, 1 with 4-7.
namespace pinfold::recorded {

// clang-format off
/// Two Guaranteed pods and a Burstable one.
inline constexpr const char* kStaticList =
    "0a360a0764622d6e6f6465120764656661756c741a220a08706f7374677265731a02030222120a066d656d6f7279"
    "1080808080011a020a000a1f0a0a62617463682d6e6f6465120764656661756c741a080a06776f726b65720a550a"
    "087765622d6e6f6465120764656661756c741a1f0a0566726f6e741a010422130a066d656d6f727910808080201a"
    "040a0208011a1f0a046261636b1a02060722130a066d656d6f727910808080301a040a020801";
inline constexpr const char* kStaticGet =
    "0a360a0764622d6e6f6465120764656661756c741a220a08706f7374677265731a02030222120a066d656d6f7279"
    "1080808080011a020a00";
inline constexpr const char* kStaticAlphaList =
    "0a1e0a0764622d6e6f6465120764656661756c741a0a0a08706f7374677265730a1f0a0a62617463682d6e6f6465"
    "120764656661756c741a080a06776f726b65720a240a087765622d6e6f6465120764656661756c741a070a056672"
    "6f6e741a060a046261636b";
inline constexpr const char* kAllocatable =
    "12060405060702031a120a066d656d6f72791080a0ef8e071a020a001a140a066d656d6f72791080e09bdf071a04"
    "0a020801";
inline constexpr const char* kStaticCpuState =
    R"({"policyName":"static","defaultCpuSet":"0-1,5","entries":{"53cac9656877e90a98f14c35f220e)"
    R"(1a2":{"postgres":"2-3"},"eb35f7641c00b4a429843aacf441622f":{"back":"6-7","front":"4"}},")"
    R"(checksum":616396531})";
inline constexpr const char* kStaticMemoryState =
    R"({"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"hugepa)"
    R"(ges-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{)"
    R"("total":2044448768,"systemReserved":134217728,"allocatable":1910231040,"reserved":268435)"
    R"(456,"free":1641795584}},"cells":[0]},"1":{"numberOfAssignments":2,"memoryMap":{"hugepage)"
    R"(s-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"t)"
    R"(otal":2078732288,"systemReserved":0,"allocatable":2078732288,"reserved":167772160,"free")"
    R"(:1910960128}},"cells":[1]}},"entries":{"53cac9656877e90a98f14c35f220e1a2":{"postgres":[{)"
    R"("numaAffinity":[0],"type":"memory","size":268435456}]},"eb35f7641c00b4a429843aacf441622f)"
    R"(":{"back":[{"numaAffinity":[1],"type":"memory","size":100663296}],"front":[{"numaAffinit)"
    R"(y":[1],"type":"memory","size":67108864}]}},"checksum":1693163895})";

/// A pod with pod-level resources (pod scope) and a Burstable one.
inline constexpr const char* kPodLevelList =
    "0a530a07706c2d6e6f6465120764656661756c741a1e0a046578636c1a010622130a066d656d6f72791080808020"
    "1a040a0208011a1f0a04736964651a02040522130a066d656d6f727910808080601a040a0208010a1f0a0a626174"
    "63682d6e6f6465120764656661756c741a080a06776f726b6572";
inline constexpr const char* kPodLevelAllocatable =
    "12060506070203041a120a066d656d6f72791080a0ef8e071a020a001a140a066d656d6f72791080e09bdf071a04"
    "0a020801";
inline constexpr const char* kPodLevelCpuState =
    R"({"policyName":"static","defaultCpuSet":"0-3,7","entries":{"f6f21f3110f94eb37807b2516f903)"
    R"(e81":{"excl":"6","side":"4-5"}},"podEntries":{"f6f21f3110f94eb37807b2516f903e81":{"cpuSe)"
    R"(t":"4-6"}},"checksum":4184454415})";
inline constexpr const char* kPodLevelMemoryState =
    R"({"policyName":"Static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"hugepa)"
    R"(ges-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{)"
    R"("total":2044448768,"systemReserved":134217728,"allocatable":1910231040,"reserved":0,"fre)"
    R"(e":1910231040}},"cells":[0]},"1":{"numberOfAssignments":1,"memoryMap":{"hugepages-2Mi":{)"
    R"("total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":20)"
    R"(78732288,"systemReserved":0,"allocatable":2078732288,"reserved":268435456,"free":1810296)"
    R"(832}},"cells":[1]}},"entries":{"f6f21f3110f94eb37807b2516f903e81":{"excl":[{"numaAffinit)"
    R"(y":[1],"type":"memory","size":67108864}],"side":[{"numaAffinity":[1],"type":"memory","si)"
    R"(ze":201326592}]}},"podEntries":{"f6f21f3110f94eb37807b2516f903e81":{"memoryBlocks":[{"nu)"
    R"(maAffinity":[1],"type":"memory","size":268435456}]}},"checksum":4125277116})";
// clang-format on

}  // namespace pinfold::recorded
