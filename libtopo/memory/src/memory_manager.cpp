#include "pinfold/memory/memory_manager.hpp"
