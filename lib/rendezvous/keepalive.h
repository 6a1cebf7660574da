// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace distinit {

/// For a socket between agents: no Nagle, and a peer whose node is gone shows as ETIMEDOUT after 60
/// to 90 s, while a network that is away for less costs nothing but time.
void keep_link_alive(int fd);

/// True for the errors that say "the node or the network is gone" as opposed to "the process has
/// ended".
bool is_network_loss(int sys_errno);

}  // namespace distinit
