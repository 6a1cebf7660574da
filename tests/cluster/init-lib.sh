# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What login-init and node-init have in common. Everything here happens inside the cluster's own namespaces.

# enter_host NAME: host name, loopback, this host's files of /etc, and its own network in /sys.
enter_host() {
  echo "$1" >/proc/sys/kernel/hostname
  ip link set lo up
  # A fresh /sys shows this network's devices; slurmd insists on the cgroup mounts below the old one.
  local cgroups=$SCRATCH/run/cgroup.$1
  mkdir "$cgroups"
  mount --rbind /sys/fs/cgroup "$cgroups"
  mount -t sysfs sysfs /sys
  mount --move "$cgroups" /sys/fs/cgroup
  replace_file "$SCRATCH/etc/hosts.$1" /etc/hosts
  local file
  for file in passwd group nsswitch.conf; do
    replace_file "$SCRATCH/etc/$file" "/etc/$file"
  done
}

# replace_file OURS THEIRS: within the cluster's mounts; the machine's own file stays as it is.
replace_file() {
  if [[ ! -e $2 ]]; then
    echo "$2 is missing on this machine; 'touch $2' makes it"
    return 1
  fi
  mount --bind "$1" "$2"
}

# Without --ipv6 a link has no IPv6 address at all, not even its own.
quiet_ipv6() {
  if [[ $IPV6 != 1 && -e /proc/sys/net/ipv6/conf/$1/disable_ipv6 ]]; then
    echo 1 >"/proc/sys/net/ipv6/conf/$1/disable_ipv6"
  fi
}

# wait_until WHAT COMMAND…: tries for 20 s.
wait_until() {
  local what=$1 tries
  shift
  for ((tries = 0; tries < 1000; tries++)); do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.02
  done
  echo "gave up waiting for $what" >&2
  return 1
}

controller_listens() {
  (exec 3<>/dev/tcp/10.20.0.254/6817) 2>/dev/null
}

# run_daemon NAME COMMAND…: in the background; what it says on stderr is kept, and so is the fact that it ended.
run_daemon() {
  local name=$1
  shift
  {
    "$@" >>"$SCRATCH/log/$name.err" 2>&1 </dev/null || true
    touch "$SCRATCH/run/$name.ended"
  } &
}

# As process 1 bash waits for orphans too.
reap_for_ever() {
  while :; do
    sleep 3600 &
    wait $! || true
  done
}
