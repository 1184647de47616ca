#include "pinfold/device/device_manager.hpp"
