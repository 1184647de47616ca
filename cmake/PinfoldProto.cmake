# C++ from .proto files, with protoc and its plugin for gRPC.
find_package(Protobuf REQUIRED)
pkg_check_modules(grpc REQUIRED IMPORTED_TARGET grpc++_unsecure>=1.51)
find_program(PINFOLD_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

# pinfold_add_proto(DIRECTORY FILES a/b.proto ...)
# Declares pinfold_proto (the messages) and pinfold_proto_grpc (the services) from files below
# DIRECTORY. Generated code is compiled without warnings, and its headers are system headers.
function(pinfold_add_proto directory)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  set(messages)
  set(services)
  foreach(file IN LISTS ARG_FILES)
    string(REGEX REPLACE "[.]proto$" "" name ${file})
    set(generated ${out}/${name}.pb.cc ${out}/${name}.grpc.pb.cc)
    add_custom_command(
      OUTPUT ${generated} ${out}/${name}.pb.h ${out}/${name}.grpc.pb.h
      COMMAND protobuf::protoc --proto_path=${directory} --cpp_out=${out} --grpc_out=${out}
              --plugin=protoc-gen-grpc=${PINFOLD_GRPC_PLUGIN} ${file}
      DEPENDS ${directory}/${file}
      VERBATIM)
    list(APPEND messages ${out}/${name}.pb.cc ${out}/${name}.pb.h)
    list(APPEND services ${out}/${name}.grpc.pb.cc ${out}/${name}.grpc.pb.h)
  endforeach()
  add_library(pinfold_proto STATIC ${messages})
  target_link_libraries(pinfold_proto PUBLIC protobuf::libprotobuf)
  add_library(pinfold_proto_grpc STATIC ${services})
  target_link_libraries(pinfold_proto_grpc PUBLIC pinfold_proto PkgConfig::grpc)
  foreach(target pinfold_proto pinfold_proto_grpc)
    target_include_directories(${target} SYSTEM PUBLIC ${out})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_compile_options(${target} PRIVATE -w)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON)
  endforeach()
endfunction()
