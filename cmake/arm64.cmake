# Cross-compilation to arm64 with Debian's compiler. Libraries and headers, other than those of C and
# C++, come from the folder that `vm-images/build --libraries` makes of Debian's arm64 packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(PINFOLD_ARM64_LIBRARIES "" CACHE PATH "Libraries and headers for arm64; empty: downloaded")
if(NOT PINFOLD_ARM64_LIBRARIES)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../vm-images/build --libraries
    OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(PINFOLD_ARM64_LIBRARIES ${libraries} CACHE PATH "" FORCE)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PINFOLD_ARM64_LIBRARIES)
set(CMAKE_FIND_ROOT_PATH "${PINFOLD_ARM64_LIBRARIES}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${PINFOLD_ARM64_LIBRARIES}")
set(ENV{PKG_CONFIG_LIBDIR}
  "${PINFOLD_ARM64_LIBRARIES}/usr/lib/aarch64-linux-gnu/pkgconfig:${PINFOLD_ARM64_LIBRARIES}/usr/share/pkgconfig")

set(folder ${PINFOLD_ARM64_LIBRARIES}/usr/lib/aarch64-linux-gnu)
foreach(kind EXE SHARED)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT
    " -L${folder} -Wl,-rpath-link,${folder}:${PINFOLD_ARM64_LIBRARIES}/lib/aarch64-linux-gnu")
endforeach()
# After the compiler's own folders.
foreach(language C CXX)
  string(APPEND CMAKE_${language}_FLAGS_INIT " -idirafter ${PINFOLD_ARM64_LIBRARIES}/usr/include"
    " -idirafter ${PINFOLD_ARM64_LIBRARIES}/usr/include/aarch64-linux-gnu")
endforeach()
