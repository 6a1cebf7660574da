// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/rendezvous.h"

#include "lib/rendezvous/ports.h"

#include <algorithm>

namespace distinit {

std::optional<int> fixed_port(const RendezvousSetup& setup) {
  if (setup.options.port != 0) {
    return setup.options.port;
  }
  return setup.user_port;
}

std::vector<int> store_ports(const RendezvousSetup& setup) {
  if (setup.options.torch_store == TorchStore::kRank0) {
    return port_sequence(setup.facts, setup.options);
  }
  return port_candidates(setup.facts, setup.options, fixed_port(setup));
}

std::vector<int> meeting_ports(const RendezvousSetup& setup) {
  std::vector<int> ports = store_ports(setup);
  // The site's range may be the very one that is full.
  Options anywhere = setup.options;
  anywhere.port_low = Options().port_low;
  anywhere.port_high = Options().port_high;
  for (const Options& options : {setup.options, anywhere}) {
    for (const int port : port_sequence(setup.facts, options)) {
      if (std::find(ports.begin(), ports.end(), port) == ports.end()) {
        ports.push_back(port);
      }
    }
  }
  return ports;
}

milliseconds next_reminder(milliseconds previous) {
  return previous == milliseconds(0) ? milliseconds(5000) : previous * 2;
}

}  // namespace distinit
