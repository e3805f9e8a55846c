"""Commands in a mount namespace of their own, with small and read-only disks that end with them."""

import subprocess

import pytest

ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-ec")
SMALL = 'mount -t tmpfs -o size="$2" none "$1"; shift 2; exec "$@"'
READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"'


def allowed():
    """Return whether this machine lets a user mount in their own namespace."""
    try:
        mounted = subprocess.run([*ALONE, "mount -t tmpfs none /mnt"], capture_output=True)
    except FileNotFoundError:
        return False
    return mounted.returncode == 0


needs_mounts = pytest.mark.skipif(not allowed(), reason="needs unshare and the right to mount")


def on_a_small_disk(folder, size, *command, **options):
    """Run a command with a disk of `size` bytes mounted at `folder`."""
    folder.mkdir(exist_ok=True)
    return run(SMALL, folder, size, *command, **options)


def read_only(folder, *command, **options):
    """Run a command with `folder` mounted read-only, even for root."""
    return run(READ_ONLY, folder, *command, **options)


def run(script, *arguments, **options):
    words = [*ALONE, script, "sh", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
