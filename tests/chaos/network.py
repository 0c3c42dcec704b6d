"""Simulated hosts: network namespaces on a bridge, each with a link that can be cut."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress


def ip(*words: str) -> None:
    """Run iproute2's ``ip``.

    Raises
    ------
    CalledProcessError
        The command fails.
    """
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """A bridge with an address of this host, and namespaces connected to it. Needs root."""

    def __init__(self, hosts: int) -> None:
        number = os.getpid() % 60_000
        self.name = f"cm{number}"
        self.prefix = f"10.{200 + number // 256 % 50}.{number % 256}"
        self.address = f"{self.prefix}.1"
        self.hosts = [f"{self.name}h{host}" for host in range(1, hosts + 1)]

    def create(self) -> None:
        """Create the bridge and the namespaces."""
        ip("link", "add", self.name, "type", "bridge")
        ip("addr", "add", f"{self.address}/24", "dev", self.name)
        ip("link", "set", self.name, "up")
        for number, host in enumerate(self.hosts, 2):
            ip("netns", "add", host)
            ip("link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("link", "set", host, "master", self.name, "up")
            ip("-n", host, "addr", "add", f"{self.prefix}.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", host, "link", "set", device, "up")

    def within(self, host: str) -> list[str]:
        """Return the words that, before a command, run it on a host."""
        return ["ip", "netns", "exec", host]

    def cut(self, host: str) -> None:
        """Cut a host's link: packets are lost without an error."""
        ip("link", "set", host, "down")

    def connect(self, host: str) -> None:
        """Restore a host's link."""
        ip("link", "set", host, "up")

    def remove(self) -> None:
        """Remove the bridge and the namespaces that exist."""
        for host in self.hosts:
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", host)
            with suppress(subprocess.CalledProcessError):
                ip("link", "del", host)
        with suppress(subprocess.CalledProcessError):
            ip("link", "del", self.name)
