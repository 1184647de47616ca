#include "pinfold/align/topology_manager.hpp"
