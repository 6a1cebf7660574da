// SPDX-License-Identifier: Apache-2.0
#include "lib/store/silent_connections.h"

#include <criterion/criterion.h>

using namespace distinit;

Test(silent_connections, pairs_a_client_with_the_one_opened_after_it) {
  SilentConnections all;
  all.opened(1, "a");
  all.spoke(1, true);
  cr_assert(!all.partner(1));
  all.opened(2, "b");
  cr_assert(!all.partner(1), "another host's");
  all.opened(3, "a");
  cr_assert(all.partner(1) == 3 && all.partner(3) == 1);
  cr_assert(all.unpaired_count() == 1 && all.oldest_unpaired() == 2);
}

Test(silent_connections, pairs_when_the_second_came_before_the_first_spoke) {
  SilentConnections all;
  all.opened(1, "a");  // a stranger, older than the client
  all.opened(2, "a");
  all.opened(3, "a");
  all.spoke(2, true);
  cr_assert(all.partner(2) == 3);
  cr_assert(all.oldest_unpaired() == 1);
}

Test(silent_connections, gives_each_client_its_own) {
  SilentConnections all;
  for (ConnectionId id = 1; id <= 3; ++id) {
    all.opened(id, "a");
    all.spoke(id, true);
  }
  all.opened(4, "a");
  all.opened(5, "a");
  cr_assert(all.partner(1) == 4 && all.partner(2) == 5 && !all.partner(3));
  cr_assert(all.unpaired_count() == 0 && !all.oldest_unpaired());
}

Test(silent_connections, separates_when_the_silent_one_speaks) {
  SilentConnections all;
  all.opened(1, "a");
  all.spoke(1, true);
  all.opened(2, "a");  // a client of a newer dialect that has not got to its handshake yet
  cr_assert(all.partner(1) == 2);
  all.spoke(2, false);
  cr_assert(!all.partner(1) && !all.partner(2));
  all.opened(3, "a");
  cr_assert(all.partner(1) == 3);
}

Test(silent_connections, makes_the_companion_of_a_closed_client_evictable) {
  SilentConnections all;
  all.opened(1, "a");
  all.spoke(1, true);
  all.opened(2, "a");
  cr_assert(all.unpaired_count() == 0);
  all.closed(1);
  cr_assert(all.oldest_unpaired() == 2);
  all.closed(2);
  all.closed(2);
  cr_assert(all.unpaired_count() == 0);
}

Test(silent_connections, finds_another_companion_when_one_closes) {
  SilentConnections all;
  all.opened(1, "a");
  all.spoke(1, true);
  all.opened(2, "a");
  all.opened(3, "a");
  all.closed(2);
  cr_assert(all.partner(1) == 3);
}
