#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Recorded by Linux 6.18 while a process with two CPUs created another one, which entered the
/// group /kubepods/podA/c, executed a program that sleeps, and ended. Names of tasks are replaced.
/// Events of other processes are left out, so two switches do not match the ones before.
namespace pinfold::test {

/// Files events/SYSTEM/EVENT/format, in the order of TaskEventKind, without fields that no test
/// needs.
inline constexpr std::string_view kRecordedFormats[] = {
    "name: sched_switch\nID: 372\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
    "\nprint fmt: \"\"\n",
    "name: task_newtask\nID: 205\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:0;\n"
    "\tfield:u64 clone_flags;\toffset:32;\tsize:8;\tsigned:0;\n"
    "\nprint fmt: \"\"\n",
    "name: sched_process_exec\nID: 365\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
    "\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\nprint fmt: \"\"\n",
    "name: sched_process_exit\nID: 369\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
    "\nprint fmt: \"\"\n",
    "name: cgroup_attach_task\nID: 538\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:int dst_root;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:int dst_level;\toffset:12;\tsize:4;\tsigned:1;\n"
    "\tfield:u64 dst_id;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:int pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:__data_loc char[] dst_path;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:__data_loc char[] comm;\toffset:32;\tsize:4;\tsigned:0;\n"
    "\nprint fmt: \"\"\n",
    "name: print\nID: 5\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
    "\nprint fmt: \"\"\n",
};

// CPU 0, 388 bytes.
inline constexpr std::string_view kRecordedCpu0 =
    "0a0df4378b290000740100000000000005000000050000015948000001a04a81ffffffff300a0000907ecd007401"
    "0102594800007461736b000000000000000000000000594800008b00000000010000000000007461736b00000000"
    "00000000000000004f48000078000000903bfd1d740101020e0000007461736b0000000000000000000000000e00"
    "00007800000001000000000000007461736b000000000000000000000000594800008b0000002ccb1b01cd000000"
    "59480000a14800007461736b000000000000000000000000000000000000200100000000000000000000000070f2"
    "400074010102594800007461736b000000000000000000000000594800008b00000001000000000000007461736b"
    "0000000000000000000000009e48000078000000b0360848740101024f4800007461736b00000000000000000000"
    "00004f4800007800000000000000000000007461736b000000000000000000000000594800008b00000085517d00"
    "050000015948000001a04a81ffffffff310a0000";

// CPU 1, 708 bytes.
inline constexpr std::string_view kRecordedCpu1 =
    "a8abf8388b290000b4020000000000001000000074010102434800007461736b0000000000000000000000004348"
    "00007800000000000000000000007461736b000000000000000000000000a14800008b0000007036090374010102"
    "a14800007461736b000000000000000000000000a14800008b00000002000000000000007461736b000000000000"
    "000000000000434800007800000010e2ac1974010102434800007461736b00000000000000000000000043480000"
    "7800000000000000000000007461736b000000000000000000000000a14800008b000000f11626001a022501a148"
    "000000000000030000003f00000000000000a148000024001100350008002f6b756265706f64732f706f64412f63"
    "007461736b000000000000000000000010d1010074010102a14800007461736b000000000000000000000000a148"
    "00008b00000000000000000000007461736b0000000000000000000000007907000078000000102d030074010102"
    "790700007461736b000000000000000000000000790700007800000080000000000000007461736b000000000000"
    "000000000000a14800008b000000a88464016d010000a148000014000b00a1480000a14800002f62696e2f736c65"
    "65700000709bb00174010102a14800007461736b000000000000000000000000a14800008b000000010000000000"
    "00007461736b000000000000000000000000434800007800000010d03e2774010102412100007461736b00000000"
    "0000000000000000412100007800000001000000000000007461736b000000000000000000000000a14800008b00"
    "0000c96b140071010000a14800007461736b000000000000000000000000a14800008b0000000100000050c74900"
    "74010102a14800007461736b000000000000000000000000a14800008b00000020000000000000007461736b0000"
    "000000000000000000007907000078000000";

/// Returns the bytes of a page.
inline std::string recorded_page(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string page;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    page += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  }
  return page;
}

}  // namespace pinfold::test
