"""Hosts of a network, on one machine: namespaces whose only way out is a router in this process.

Linux can delay and lose packets itself (`tc netem`), where its kernel has that module. A router of forty
lines needs none: it reads each packet from the sender's TUN device and writes it to the receiver's, later,
or never.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time
from pathlib import Path

_NAMESPACES = Path("/var/run/netns")
_CLONE_NEWNET = 0x40000000  # linux/sched.h
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
_LONGEST_PACKET = 65536


def reason_for_none() -> str | None:
    """Why this machine can have no such hosts, or None: it needs root, iproute2 and TUN devices."""
    if os.geteuid():
        return "namespaces of networks need root"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    try:
        with Hosts(1):
            return None
    except (OSError, subprocess.CalledProcessError) as error:
        return f"namespaces of networks cannot be made: {error}"


class Hosts:
    """Hosts with the addresses 10.231.0.1, 10.231.0.2, ..., inside a `with` block.

    Args:
      number: how many.

    Attributes:
      delay: seconds that each packet is under way.
      loss: the share of packets that never arrive.
      cut: numbers of hosts, from 0, that no packet reaches or leaves.
    """

    def __init__(self, number: int):
        self.delay, self.loss, self.cut = 0.0, 0.0, set()
        self._names = [f"kbert-{os.getpid()}-{host}" for host in range(number)]
        self._devices, self._processes, self._stopped = [], [], threading.Event()

    def address(self, host: int) -> str:
        return f"10.231.0.{host + 1}"

    def start(self, host: int, *command: str, environment: dict, folder: Path) -> subprocess.Popen:
        """A process on a host, with its own streams; it ends with the block."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self._names[host], *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=folder,
        )
        self._processes.append(process)
        return process

    def __enter__(self):
        try:
            for host, name in enumerate(self._names):
                _run(f"ip netns add {name}")
                self._devices.append(_device(name))
                _run(f"ip -n {name} addr add {self.address(host)}/24 dev eth0")
                _run(f"ip -n {name} link set eth0 up")
                _run(f"ip -n {name} link set lo up")
        except BaseException:
            self._remove()
            raise
        self._router = threading.Thread(target=self._route, daemon=True)
        self._router.start()
        return self

    def __exit__(self, *error):
        for process in self._processes:
            process.kill()
            process.communicate()
        self._stopped.set()
        self._router.join()
        self._remove()

    def _remove(self):
        for device in self._devices:
            os.close(device)
        for name in self._names:
            if (_NAMESPACES / name).exists():
                _run(f"ip netns del {name}")

    def _route(self):
        chance, under_way, number = random.Random(1), [], 0
        while not self._stopped.is_set():
            wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else 0.1
            for device in select.select(self._devices, [], [], min(wait, 0.1))[0]:
                packet, sender = os.read(device, _LONGEST_PACKET), self._devices.index(device)
                receiver = (
                    packet[19] - 1 if packet[0] >> 4 == 4 else -1
                )  # the last byte of an address of IPv4
                if 0 <= receiver < len(self._devices) and chance.random() >= self.loss:
                    number += 1
                    arrival = time.monotonic() + self.delay
                    heapq.heappush(under_way, (arrival, number, sender, receiver, packet))
            while under_way and under_way[0][0] <= time.monotonic():
                *_, sender, receiver, packet = heapq.heappop(under_way)
                if not self.cut & {sender, receiver}:
                    os.write(self._devices[receiver], packet)


def _run(command):
    subprocess.run(command.split(), check=True, capture_output=True)


def _device(namespace):
    """The TUN device eth0 of a namespace, as a file of this process: a thread goes there to open it."""
    opened: list = []

    def open_there():
        try:
            with open(_NAMESPACES / namespace) as file:
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            device = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", b"eth0", _IFF_TUN | _IFF_NO_PI))
            opened.append(device)
        except OSError as error:
            opened.append(error)

    thread = threading.Thread(target=open_there)
    thread.start()
    thread.join()
    if isinstance(opened[0], OSError):
        raise opened[0]
    return opened[0]
