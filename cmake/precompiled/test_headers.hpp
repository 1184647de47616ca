#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headers.hpp"
