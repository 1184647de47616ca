#include "pinfold/cpu/cpu_manager.hpp"
