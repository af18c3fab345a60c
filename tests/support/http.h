#pragma once
#include <string>

namespace sluice::testing {

/// The whole answer to GET http://127.0.0.1:<port><target>, headers and all; "" when there is none.
std::string http_get(int port, const std::string& target);

}  // namespace sluice::testing
