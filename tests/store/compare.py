# SPDX-License-Identifier: Apache-2.0
"""`distinit store` against PyTorch's own server, by PyTorch's own client."""

import datetime
import os
import resource
import signal
import socket
import subprocess
import sys
import time

import torch
import torch.distributed as dist

import operations
import servers

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = sys.argv[1]
TIMEOUT = datetime.timedelta(seconds=15)
GROUP_SIZE = 4
NOBODY = 65534


class Report:
    passed = 0
    failed = 0

    def check(self, name, holds, detail=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}: {detail}")

    def equal(self, name, got, wanted):
        self.check(name, got == wanted, f"got {got!r}, wanted {wanted!r}")


report = Report()


def client_maker(server, libuv):
    def make(world_size=None):
        return dist.TCPStore(
            "127.0.0.1", server.port, world_size, False, TIMEOUT, **servers.client_options(libuv)
        )

    return make


def compare_operations(libuv):
    """Every scenario on both servers; PyTorch's libuv server where the build has it."""
    old = not hasattr(dist.TCPStore, "multi_get")
    for scenario in operations.scenarios(libuv, replies_zero_after_giving_up=old):
        kind = ("libuv" if libuv else "legacy") if servers.knows_libuv() else ""
        with servers.ours(PROGRAM, "--open") as ours, servers.pytorchs(kind) as theirs:
            got = scenario(client_maker(ours, libuv))
            wanted = scenario(client_maker(theirs, libuv))
        report.equal(f"{scenario.__name__}: number of outcomes", len(got), len(wanted))
        for index, (mine, other) in enumerate(zip(got, wanted)):
            report.equal(f"{scenario.__name__}[{index}]", mine, other)


def abandoned_waits(libuv):
    """Clients up to 2.0 give a wait up silently; PyTorch's server then sends a stray byte."""
    with servers.ours(PROGRAM, "--open") as ours:
        got = operations.cancelled_waits(client_maker(ours, libuv))
        report.equal("a wait given up leaves no stray byte", got[1:], ["1", "2", "b'1'", "None"])


def group_results(server, libuv):
    """What each rank of a process group over the server printed."""
    environment = dict(
        os.environ,
        WORLD_SIZE=str(GROUP_SIZE),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(server.port),
        TORCHELASTIC_USE_AGENT_STORE="True",
        TORCHELASTIC_RESTART_COUNT="0",
        OMP_NUM_THREADS="1",
    )
    mode = "agent-store" if libuv or not servers.knows_libuv() else "store"
    command = [sys.executable, os.path.join(HERE, "group_worker.py"), mode]
    ranks = [
        subprocess.Popen(
            command, env=dict(environment, RANK=str(rank)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(GROUP_SIZE)
    ]
    out = []
    for rank in ranks:
        try:
            text, errors = rank.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            rank.kill()
            text, errors = rank.communicate()
        out.append(text.strip() if rank.returncode == 0 else errors[-800:])
    return out


def init_count(server):
    """The value of init/, which PyTorch's Python interface does not give: VALIDATE, ADD init/ 0."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(bytes.fromhex("00cef7853c 04 0500000000000000 696e69742f 0000000000000000"))
        return int.from_bytes(raw.recv(8, socket.MSG_WAITALL), "little")


def process_group(libuv):
    with servers.ours(PROGRAM, "--open") as ours:
        wanted = [str(sum(range(GROUP_SIZE)))] * GROUP_SIZE
        report.equal("a gloo process group", group_results(ours, libuv), wanted)
        report.equal("ranks that counted themselves", init_count(ours), GROUP_SIZE)


def silent_crowd(libuv):
    """Silent connections in thousands do not keep a job from starting."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(10_000, hard - 300)
    with servers.ours(PROGRAM, "--open") as ours:
        crowd = [socket.create_connection(("127.0.0.1", ours.port)) for _ in range(count)]
        wanted = [str(sum(range(GROUP_SIZE)))] * GROUP_SIZE
        report.equal(f"a process group among {count} silent connections", group_results(ours, libuv), wanted)
        for connection in crowd:
            connection.close()


def as_nobody(port):
    """What a connection of another user gets: the bytes of a PING's answer, or nothing."""
    script = (
        "import os, socket, sys\n"
        f"os.setuid({NOBODY})\n"
        f"s = socket.create_connection(('127.0.0.1', {port}))\n"
        "s.sendall(bytes.fromhex('00cef7853c0d01020304'))\n"
        "s.settimeout(10)\n"
        "try: print(s.recv(4).hex())\n"
        "except ConnectionError: print()\n"
    )
    done = subprocess.run(["/usr/bin/python3", "-I", "-c", script], capture_output=True, text=True, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else done.stderr


def admission(libuv):
    with servers.ours(PROGRAM) as ours:
        store = client_maker(ours, libuv)(world_size=2)
        report.equal("the same user is served", store.add("n", 2), 2)
        if os.geteuid() == 0:
            report.equal("another user is refused", as_nobody(ours.port), "")
        status, errors = ours.stop()
        report.equal("SIGTERM ends it with 0", status, 0)
        lines = [line for line in errors.splitlines() if "refused" in line]
        if os.geteuid() == 0:
            report.check("one line names the refused user", len(lines) == 1 and f"uid {NOBODY}" in lines[0], errors)
    if os.geteuid() == 0:
        with servers.ours(PROGRAM, "--open") as ours:
            report.equal("--open serves another user", as_nobody(ours.port), "01020304")


def command_line():
    def run(*arguments):
        done = subprocess.run([PROGRAM, "store", *arguments], capture_output=True, text=True, timeout=20)
        return done.returncode, done.stderr

    for arguments in ((), ("--listen", "here"), ("--listen", "127.0.0.1:99999"), ("--listen", "::1:80"),
                      ("--listen", "no-such-host.invalid:0"), ("--listen", "127.0.0.1:0", "--opne")):
        status, errors = run(*arguments)
        report.check(f"usage error for {arguments}", status == 2 and "hint:" in errors, (status, errors))
    with servers.ours(PROGRAM, "--open") as ours:
        status, errors = run("--listen", f"127.0.0.1:{ours.port}")
        report.check("a port in use ends it with 4", status == 4 and f"127.0.0.1:{ours.port}" in errors, (status, errors))
        report.equal("the line names host and port", ours.line, f"listening 127.0.0.1:{ours.port}")
        report.equal("SIGINT ends it with 0", ours.stop(signal.SIGINT), (0, ""))
    for listen, host in (("[::1]:0", "[::1]"), ("localhost:0", None), ("0.0.0.0:0", "0.0.0.0")):
        with servers.ours(PROGRAM, "--open", listen=listen) as ours:
            report.check(f"--listen {listen}", ours.port > 0 and host in (None, ours.host), ours.line)


def main():
    libuv = servers.has_libuv()
    print(f"PyTorch {torch.__version__}, compared with its {'libuv' if libuv else 'legacy'} server")
    if servers.knows_libuv() and not libuv:
        print("this build has no libuv: use_libuv=False, the agent store is not tried")
    for part in (compare_operations, abandoned_waits, process_group, silent_crowd, admission):
        started = time.monotonic()
        part(libuv)
        print(f"{part.__name__}: {time.monotonic() - started:.1f} s")
    command_line()
    print(f"store: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
