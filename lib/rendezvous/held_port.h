// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/fd.h"

namespace distinit {

/// A socket bound to `port` on all addresses that never listens: nobody else gets the port, but a
/// program that binds it with SO_REUSEADDR, as torch's store does, can (Linux lets two such sockets
/// share a port while neither listens). kRendezvous error when the port is taken.
Result<Fd> hold_port(int port);

}  // namespace distinit
