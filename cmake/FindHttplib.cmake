# Debian ships no CMake package for cpp-httplib. Offers httplib::httplib. The library is built with
# OpenSSL, which changes what the header declares.
find_path(HTTPLIB_INCLUDE_DIR httplib.h)
find_library(HTTPLIB_LIBRARY cpp-httplib)
find_package(OpenSSL REQUIRED)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Httplib REQUIRED_VARS HTTPLIB_LIBRARY HTTPLIB_INCLUDE_DIR)
if(Httplib_FOUND AND NOT TARGET httplib::httplib)
  add_library(httplib::httplib UNKNOWN IMPORTED)
  set_target_properties(httplib::httplib PROPERTIES
    IMPORTED_LOCATION ${HTTPLIB_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HTTPLIB_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS CPPHTTPLIB_OPENSSL_SUPPORT
    INTERFACE_LINK_LIBRARIES OpenSSL::SSL)
endif()
