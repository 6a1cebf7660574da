# SPDX-License-Identifier: Apache-2.0
# cluster: 3 nodes, --no-ports
# needs: plugin
# timeout: 180
# The store's port: taken, by strangers of every kind, and flooded; and other users at it.
. "$(dirname "$0")/../lib.sh"

dir=$(mktemp -d)
chmod 755 "$dir"
# In a namespace of the cluster everything ends with the cluster; the servers also end by themselves.
cleanup() { rm -rf "$dir"; }
trap cleanup EXIT
cat >"$dir/serve.py" <<'PYTHON'
"""A stranger (test double) on a port: serve.py PORT silent|http SECONDS"""
import socket, sys, time
server = socket.socket(socket.AF_INET6)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
server.bind(("::", int(sys.argv[1])))
server.listen(64)
server.settimeout(0.2)
end = time.monotonic() + float(sys.argv[3])
held = []
while time.monotonic() < end:
    try:
        client, _ = server.accept()
    except TimeoutError:
        continue
    held.append(client)
    if sys.argv[2] == "http":
        client.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
PYTHON
cat >"$dir/flood.py" <<'PYTHON'
"""Connections (test double of a broken or hostile client): flood.py HOST PORT COUNT SECONDS"""
import os, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (min(12000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
end = time.monotonic() + float(sys.argv[4])
kinds = [b"", b"", b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(200), b"\x00\xce\xf7\x85\x3c\x04\x05",
         b"\xd1distinit-agent1", b"\xd1distinit-agent1\xff\xff\xff\xff", b"\x00" + b"\xff" * 8]
held = []
made = 0
while made < int(sys.argv[3]) and time.monotonic() < end:
    try:
        client = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=0.3)
        data = kinds[made % len(kinds)]
        if data:
            client.sendall(data)
        held.append(client)
        made += 1
    except OSError:
        time.sleep(0.01)
print("made", made, flush=True)
while time.monotonic() < end:
    time.sleep(0.1)
PYTHON
cat >"$dir/read.py" <<'PYTHON'
"""A TCPStore client by hand: read.py HOST PORT KEY prints the value, or how it was refused."""
import socket, struct, sys
client = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
key = b"/" + sys.argv[3].encode()
text = struct.pack("<Q", len(key)) + key
try:
    client.sendall(b"\x00\xce\xf7\x85\x3c" + b"\x06" + struct.pack("<Q", 1) + text)
    if client.recv(1) != b"\x00":
        sys.exit(print("closed"))
    client.sendall(b"\x03" + text)
    size = struct.unpack("<Q", client.recv(8))[0]
    print("value", client.recv(size).decode())
except ConnectionError:
    print("closed")
PYTHON
cat >"$dir/set.py" <<'PYTHON'
"""Rank 0 sets a key in its store and waits for the file `go`."""
import os, socket, struct, time
client = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), timeout=5)
client.sendall(b"\x00\xce\xf7\x85\x3c" + b"\x01" + struct.pack("<Q", 7) + b"/secret" + struct.pack("<Q", 5) + b"weary")
client.sendall(b"\x0d" + struct.pack("<I", 7))
assert client.recv(4) == struct.pack("<I", 7)
open(os.path.expanduser("~/ready"), "w").write(os.environ["MASTER_ADDR"] + " " + os.environ["MASTER_PORT"])
end = time.monotonic() + 30
while not os.path.exists(os.path.expanduser("~/go")) and time.monotonic() < end:
    time.sleep(0.05)
PYTHON
chmod 644 "$dir"/*

both='srun -w n1,n2 --ntasks-per-node=2'
echo "--- a fixed port that is taken"
on_node 1 "setsid python3 $dir/serve.py 21000 silent 6 >/dev/null 2>&1 & sleep 0.5"
run "$both --distinit=dp,port=21000 echo started"
expect_status 4
expect_output_lacks started
expect_output_contains "distinit: n1: port 21000 can't be used for the store: "
expect_equal messages "$(grep -c 'distinit: hint' <<<"$OUTPUT")" 1

echo "--- every candidate taken"
run "$both --distinit=dp,ports=21000-21000 echo started"
expect_status 4
expect_output_lacks started
expect_output_contains 'distinit: n1: '
expect_output_contains '21000'

echo "--- strangers on the first ports of a narrow range are passed over"
on_node 1 "for p in 22000 22001; do setsid python3 $dir/serve.py \$p silent 12 >/dev/null 2>&1 & done
           setsid python3 $dir/serve.py 22002 http 12 >/dev/null 2>&1 & sleep 0.7"
for try in 1 2 3; do
  run "$both --distinit=dp,ports=22000-22004 bash -c 'echo port \$MASTER_PORT'"
  expect_status 0
  expect_equal ranks "$(grep -c 'port 2200[34]' <<<"$OUTPUT")" 4
done

echo "--- another job's store on the port"
run "srun -w n1 -n1 --distinit=dp,ports=23000-23001,address=name sleep 6 & sleep 1;
  $both --overlap --distinit=dp,ports=23000-23001 bash -c 'echo port \$MASTER_PORT'; wait"
expect_status 0
expect_equal ranks "$(grep -c '^port 2300[01]' <<<"$OUTPUT")" 4

echo "--- garbage, half messages and 10,000 mostly silent connections while a job starts, and while it runs"
# n2's agent is late, so that the flood is there before the nodes have met.
run 'echo $CLUSTER_BUILD'
build=$OUTPUT
cp "$DISTINIT_BUILD/distinit" "$dir/real"
printf '#!/bin/sh\nsleep 6\nexec %s "$@"\n' "$dir/real" >"$dir/late"
chmod 755 "$dir/real" "$dir/late"
trap '"$CLUSTER" node 2 "umount -q $build/distinit" </dev/null; cleanup' EXIT
on_node 2 "mount --bind $dir/late $build/distinit"
cat >"$dir/ask.py" <<'PYTHON'
import os, socket, struct
s = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), timeout=10)
s.sendall(bytes.fromhex("00cef7853c") + b"\x0d" + struct.pack("<I", 7))
print("answered", struct.unpack("<I", s.recv(4))[0])
PYTHON
chmod 644 "$dir/ask.py"
LIMIT=60 run "(sleep 0.5; exec python3 $dir/flood.py n1 24000 10000 14 >flood) &
  $both --distinit=dp,port=24000 bash -c 'python3 $dir/ask.py; sleep 3; python3 $dir/ask.py'; echo status \$?; wait; cat flood"
expect_output_contains 'status 0'
expect_equal answers "$(grep -c '^answered 7' <<<"$OUTPUT")" 8
made=$(sed -n 's/^made //p' <<<"$OUTPUT")
((made >= 8000)) || fail "only $made connections were made"
on_node 2 "umount $build/distinit"
no_processes_left

echo "--- other users: on the node, on another node of the step, on a node outside it; and the same user"
run 'rm -f ready go'
"$CLUSTER" run "exec $both --distinit bash -c 'if [ \$RANK = 0 ]; then python3 $dir/set.py; else while ! [ -e ~/go ]; do sleep 0.1; done; fi'" \
  >"$dir/log" 2>&1 </dev/null &
srun=$!
is_ready() { "$CLUSTER" run 'test -s ready' </dev/null 2>/dev/null; }
wait_for 'the store' 15 is_ready
endpoint=$("$CLUSTER" run 'cat ready' </dev/null)
for node in 1 2 3; do
  on_node $node "setpriv --reuid 50002 --regid 50002 --clear-groups python3 $dir/read.py $endpoint secret"
  expect_output_lacks weary
  expect_output_contains closed
  on_node $node "python3 $dir/read.py $endpoint secret"
  expect_output_lacks weary
done
# On nodes of the step alice's own processes are the step's user; on n3 nobody can vouch for her.
for node in 1 2; do
  on_node $node "setpriv --reuid 50001 --regid 50001 --clear-groups python3 $dir/read.py $endpoint secret"
  expect_output_contains 'value weary'
done
on_node 3 "setpriv --reuid 50001 --regid 50001 --clear-groups python3 $dir/read.py $endpoint secret"
expect_output_contains closed
run 'touch go'
wait "$srun" || fail 'the step has failed'
OUTPUT=$(<"$dir/log")
expect_output_contains 'distinit: warning: refused a connection to the store from 10.20.0.'
expect_equal 'told refusals' "$(grep -c 'refused a connection' "$dir/log")" 3
no_processes_left
