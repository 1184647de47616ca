// Time passes only in the world, so every sleep returns at once.

#include <ctime>

extern "C" int nanosleep(const timespec* /*time*/, timespec* /*left*/) { return 0; }
