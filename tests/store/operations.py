# SPDX-License-Identifier: Apache-2.0
"""Everything a TCPStore client of this PyTorch can ask, as scenarios that give a list of outcomes.

A scenario gets a function that makes clients of one server. Its outcomes must not depend on which
server it is: the test runs it twice and compares.
"""

import datetime
import re
import threading

import torch.distributed as dist

LONG = datetime.timedelta(seconds=20)
SHORT = datetime.timedelta(milliseconds=250)


def outcome(call, *arguments):
    """The value, or the kind and text of the exception without what differs between two servers."""
    try:
        return repr(call(*arguments))
    except Exception as failure:  # whatever PyTorch raises is what we compare
        text = str(failure).split("\nException raised from")[0]
        text = re.sub(r"(\[[^\]]*\]|[\w.:]*localhost|127\.0\.0\.1):\d+|port=\d+|fd=\d+", "ENDPOINT", text)
        text = re.sub(r"remote=\S+", "remote", text)
        return f"{type(failure).__name__}: {text}"


def plain(make):
    s = make()
    return [
        outcome(s.set, "k", "v"),
        outcome(s.get, "k"),
        outcome(s.set, "k", "other"),
        outcome(s.get, "k"),
        outcome(s.set, "empty", ""),
        outcome(s.get, "empty"),
        outcome(s.set, "ünïcode / key", "wért"),
        outcome(s.get, "ünïcode / key"),
        outcome(s.set, "", "empty key"),
        outcome(s.get, ""),
        outcome(s.set, "large", "x" * 3_000_000),
        outcome(lambda: len(s.get("large"))),
        outcome(s.num_keys),
        outcome(s.delete_key, "k"),
        outcome(s.delete_key, "k"),
        outcome(s.num_keys),
    ]


def sums(make):
    s = make()
    out = [outcome(s.add, "n", 5), outcome(s.add, "n", -7), outcome(s.get, "n"), outcome(s.add, "zero", 0)]
    for text in ("12abc", " 7", "0x10", "+3", "9223372036854775807"):
        s.set("n", text)
        out += [outcome(s.add, "n", 1), outcome(s.get, "n")]
    return out


def not_a_number(make):
    out = []
    for text in ("abc", ""):
        s, other = make(), make()
        s.set("text", text)
        out += [outcome(s.add, "text", 1).split(":")[0], outcome(other.get, "text")]
    return out


def compare_and_set(make):
    s = make()
    steps = [("c", "old", "new"), ("c", "", "a"), ("c", "b", "x"), ("c", "", "x"), ("c", "a", "b"), ("e", "", ""), ("e", "", "y")]
    out = [outcome(s.compare_set, *step) for step in steps]
    return out + [outcome(s.get, "c"), outcome(s.get, "e"), outcome(s.num_keys)]


def waits(make):
    s = make()
    s.set("a", "1")
    s.set("b", "2")
    return [
        outcome(s.wait, ["a", "b", "a"]),
        outcome(s.wait, ["a"], LONG),
        outcome(s.wait, []),
        outcome(s.wait, ["a", "missing"], SHORT),
        outcome(s.get, "a"),
        outcome(s.set_timeout, SHORT),
        outcome(s.get, "missing"),
        outcome(s.add, "n", 1),
    ]


def wakes(make):
    """Several threads wait for a key that each kind of operation creates."""
    out = []
    creators = {
        "set": lambda s: s.set("set", "1"),
        "add": lambda s: s.add("add", 0),
    }
    if hasattr(dist.TCPStore, "append"):
        creators["append"] = lambda s: s.append("append", "1")
        creators["multi_set"] = lambda s: s.multi_set(["multi_set"], ["1"])
    for name, create in creators.items():
        clients = [make() for _ in range(4)]
        got = [None] * len(clients)

        def wait(index, key=name):
            got[index] = outcome(clients[index].get, key)

        threads = [threading.Thread(target=wait, args=(i,)) for i in range(len(clients))]
        for thread in threads:
            thread.start()
        create(make())
        for thread in threads:
            thread.join()
        out.append((name, got))
    return out


def prefixes(make):
    s = make()
    inner = dist.PrefixStore("outer", dist.PrefixStore("inner", s))
    slash = dist.PrefixStore("/slash", s)
    inner.set("k", "1")
    slash.set("k", "2")
    return [
        outcome(inner.get, "k"),
        outcome(s.get, "inner/outer/k"),
        outcome(slash.get, "k"),
        outcome(s.get, "/slash/k"),
        outcome(inner.add, "n", 3),
        outcome(slash.num_keys),
        outcome(inner.delete_key, "k"),
        outcome(s.num_keys),
    ]


def known_world(make):
    """Clients that know the world size count themselves under init/."""
    first, second = make(world_size=3), make(world_size=3)
    return [outcome(first.num_keys), outcome(second.add, "n", 1), outcome(second.num_keys)]


def several(make):
    s = make()
    return [
        outcome(s.multi_set, ["m1", "m2", "m3"], ["1", "", "333"]),
        outcome(s.multi_get, ["m3", "m1", "m2", "m3"]),
        outcome(s.append, "m1", "more"),
        outcome(s.append, "new", "start"),
        outcome(s.multi_get, ["m1", "new"]),
        outcome(s.multi_get, []),
        outcome(s.set_timeout, SHORT),
        outcome(s.multi_get, ["m1", "missing"]),
        outcome(s.get, "m2"),
    ]


def checks(make):
    s = make()
    s.set("a", "1")
    return [outcome(s.check, keys) for keys in (["a"], ["a", "b"], ["b"], [])]


def cancelled_waits(make):
    """A wait that timed out leaves nothing behind, also when the key comes after the next request."""
    s, other = make(), make()
    out = [outcome(s.wait, ["late"], SHORT), outcome(s.add, "n", 1)]
    other.set("late", "1")
    other.get("late")
    return out + [outcome(s.add, "n", 1), outcome(s.get, "late"), outcome(s.wait, ["late"], SHORT)]


def clones(make):
    s = make()
    twin = s.clone()
    s.set("k", "1")
    return [outcome(twin.get, "k"), outcome(twin.add, "n", 2), outcome(s.get, "n")]


def listed_keys(make):
    s = make(world_size=1)
    for key in ("b", "a", "//c"):
        s.set(key, "")
    return [outcome(lambda: sorted(s.list_keys()))]


def queues(make):
    s, other = make(), make()
    out = [outcome(s.queue_len, "q"), outcome(s.set_timeout, SHORT), outcome(s.queue_pop, "q")]
    for value in ("1", "", "333"):
        out.append(outcome(s.queue_push, "q", value))
    out += [outcome(s.queue_len, "q"), outcome(s.check, ["q"]), outcome(s.num_keys)]
    out += [outcome(other.queue_pop, "q") for _ in range(3)]
    out += [outcome(s.queue_len, "q"), outcome(s.check, ["q"])]
    got = []
    consumers = [make() for _ in range(3)]
    threads = [threading.Thread(target=lambda c=c: got.append(outcome(c.queue_pop, "w"))) for c in consumers]
    for thread in threads:
        thread.start()
    for value in "abc":
        s.queue_push("w", value)
    for thread in threads:
        thread.join()
    return out + sorted(got) + [outcome(s.queue_len, "w")]


def barriers(make):
    size = 4
    clients = [make() for _ in range(size)]
    got = [None] * size

    def arrive(index):
        got[index] = outcome(clients[index].barrier, "bar", size, LONG)

    threads = [threading.Thread(target=arrive, args=(i,)) for i in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = make()
    return got + [
        outcome(late.barrier, "bar", size, LONG),
        outcome(late.get, "bar"),
        outcome(late.barrier, "lonely", 2, SHORT),
        outcome(make().barrier, "lonely", 2, LONG),
    ]


def scenarios(server_has_queues, replies_zero_after_giving_up):
    """All that this PyTorch and the server to compare with can do."""
    store = dist.TCPStore
    out = [plain, sums, not_a_number, compare_and_set, waits, wakes, prefixes, known_world]
    if hasattr(store, "multi_get"):
        out.append(several)
    if hasattr(store, "check"):
        out.append(checks)
    if not replies_zero_after_giving_up:
        out.append(cancelled_waits)
    if hasattr(store, "clone"):
        out.append(clones)
    if hasattr(store, "list_keys"):
        out.append(listed_keys)
    if hasattr(store, "barrier"):
        out.append(barriers)
    if hasattr(store, "queue_push") and server_has_queues:
        out.append(queues)
    return out
