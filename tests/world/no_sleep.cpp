// Time passes only in the world: who sleeps has slept.

#include <ctime>

extern "C" int nanosleep(const timespec* /*time*/, timespec* /*left*/) { return 0; }
