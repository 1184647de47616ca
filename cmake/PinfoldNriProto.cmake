# NRI's messages, from the definition that a Debian package publishes; it is not copied into this
# repository. It is that of the installed package, if that is new enough; else the package is
# downloaded once, into the cache that vm-images/build also uses: from the mirror, then from the
# archive of all packages that Debian ever had. Sets PINFOLD_NRI to OFF, with a reason, if there is
# no definition: all else is built.
set(PINFOLD_NRI_PROTO "" CACHE FILEPATH "NRI's api.proto (0.8 or newer); empty: downloaded")

# Nothing in it depends on the machine, so the package of a later Debian serves any.
set(PINFOLD_NRI_PACKAGE golang-github-containerd-nri-dev_0.8.0-1_all.deb)
set(PINFOLD_NRI_SHA256 8081f1a966e3670dcfed1202bf533902a3f3fead6c29c00a6091a7de2409bcf7)

# Sets `deb` to the package in the cache, or to "".
function(pinfold_fetch_nri_package deb)
  set(cache "$ENV{PINFOLD_CACHE}")
  if(NOT cache)
    set(cache "$ENV{XDG_CACHE_HOME}")
    if(NOT cache)
      set(cache "$ENV{HOME}/.cache")
    endif()
    string(APPEND cache /pinfold)
  endif()
  set(mirror "$ENV{PINFOLD_DEBIAN_MIRROR}")
  if(NOT mirror)
    set(mirror http://deb.debian.org)
  endif()
  set(file ${cache}/debs/${PINFOLD_NRI_SHA256}.deb)
  set(pool pool/main/g/golang-github-containerd-nri/${PINFOLD_NRI_PACKAGE})
  # First the cache alone; last the archive of old packages, for when the mirror has a newer one.
  foreach(url "" ${mirror}/debian/${pool} http://snapshot.debian.org/archive/debian/20261101T000000Z/${pool})
    if(url)
      string(RANDOM LENGTH 8 suffix)
      file(DOWNLOAD ${url} ${file}.${suffix} TIMEOUT 60 INACTIVITY_TIMEOUT 10 STATUS status)
      file(RENAME ${file}.${suffix} ${file} RESULT ignored)
    endif()
    if(EXISTS ${file})
      file(SHA256 ${file} sum)
      if(sum STREQUAL PINFOLD_NRI_SHA256)
        set(${deb} ${file} PARENT_SCOPE)
        return()
      endif()
      file(REMOVE ${file})
    endif()
    if(url)
      list(GET status 1 reason)
      message(STATUS "NRI: ${url}: ${reason}, or another checksum")
    endif()
  endforeach()
  set(${deb} "" PARENT_SCOPE)
endfunction()

# Declares pinfold_nri_proto, the generated messages. They are compiled without warnings, each in
# a unit of its own, and their header is a system header.
function(pinfold_add_nri_proto proto header)
  find_package(Protobuf REQUIRED)
  get_filename_component(directory ${proto} DIRECTORY)
  get_filename_component(file ${proto} NAME)
  get_filename_component(name ${proto} NAME_WLE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out}/nri)
  add_custom_command(
    OUTPUT ${out}/nri/${name}.pb.cc ${out}/nri/${name}.pb.h
    COMMAND protobuf::protoc --proto_path=${directory} --cpp_out=lite:${out}/nri ${file}
    DEPENDS ${proto}
    VERBATIM)
  add_library(pinfold_nri_proto STATIC ${out}/nri/${name}.pb.cc ${out}/nri/${name}.pb.h)
  # The full library contains the lite one; a program must not have both.
  target_link_libraries(pinfold_nri_proto
    PUBLIC $<IF:$<BOOL:${PINFOLD_GRPC}>,protobuf::libprotobuf,protobuf::libprotobuf-lite>)
  target_include_directories(pinfold_nri_proto SYSTEM PUBLIC $<BUILD_INTERFACE:${out}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/pinfold/nri_definition>)
  set(${header} ${out}/nri/${name}.pb.h PARENT_SCOPE)
  target_compile_features(pinfold_nri_proto PUBLIC cxx_std_20)
  target_compile_options(pinfold_nri_proto PRIVATE -w)
  # Extensions would define the macro `linux`, which is the name of a field.
  target_compile_options(pinfold_nri_proto INTERFACE -Ulinux)
  set_target_properties(pinfold_nri_proto PROPERTIES
    CXX_EXTENSIONS OFF UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON)
endfunction()

# NRI 0.6 (Debian 13) lacks the parts of Synchronize and the time limits of requests.
function(pinfold_check_nri_proto proto is_new_enough)
  set(${is_new_enough} OFF PARENT_SCOPE)
  if(EXISTS ${proto})
    file(STRINGS ${proto} fields REGEX "(bool more|int64 request_timeout) *=")
    list(LENGTH fields count)
    if(count GREATER_EQUAL 3)
      set(${is_new_enough} ON PARENT_SCOPE)
    endif()
  endif()
endfunction()

if(PINFOLD_NRI AND PINFOLD_TOOLS AND NOT PINFOLD_NRI_PROTO)
  set(installed /usr/share/gocode/src/github.com/containerd/nri/pkg/api/api.proto)
  pinfold_check_nri_proto(${installed} is_new_enough)
  if(is_new_enough)
    set(PINFOLD_NRI_PROTO ${installed})
  endif()
endif()
if(PINFOLD_NRI AND PINFOLD_TOOLS AND NOT PINFOLD_NRI_PROTO)
  set(unpacked ${PROJECT_BINARY_DIR}/nri-definition/${PINFOLD_NRI_SHA256})
  set(proto ${unpacked}/usr/share/gocode/src/github.com/containerd/nri/pkg/api/api.proto)
  set(package "")
  if(NOT EXISTS ${proto})
    pinfold_fetch_nri_package(package)
  endif()
  if(package)
    file(MAKE_DIRECTORY ${unpacked})
    execute_process(COMMAND dpkg-deb --extract ${package} ${unpacked} RESULT_VARIABLE failed)
    if(failed)
      message(STATUS "NRI: '${package}' cannot be unpacked (dpkg-deb: ${failed})")
    endif()
  endif()
  if(EXISTS ${proto})
    set(PINFOLD_NRI_PROTO ${proto})
  else()
    message(WARNING "NRI is left out, and pinfold-serve refuses the section 'nri': its definition is "
      "neither in the cache nor can it be downloaded (${PINFOLD_NRI_PACKAGE}, SHA-256 "
      "${PINFOLD_NRI_SHA256}); -DPINFOLD_NRI_PROTO=FILE names an api.proto of NRI 0.8 or newer")
    set(PINFOLD_NRI OFF)
  endif()
elseif(PINFOLD_NRI AND PINFOLD_TOOLS)
  pinfold_check_nri_proto(${PINFOLD_NRI_PROTO} is_new_enough)
  if(NOT is_new_enough)
    message(WARNING "NRI is left out, and pinfold-serve refuses the section 'nri': "
      "'${PINFOLD_NRI_PROTO}' is not the api.proto of NRI 0.8 or newer")
    set(PINFOLD_NRI OFF)
  endif()
endif()
