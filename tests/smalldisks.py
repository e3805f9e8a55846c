"""Commands in a mount namespace of their own: small and read-only disks that end with them."""

import subprocess

import pytest

ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-ec")
SMALL = 'mount -t tmpfs -o size="$2" none "$1"; shift 2; exec "$@"'
READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"'


def allowed():
    """Whether this machine lets a user mount in a namespace of his own."""
    try:
        mounted = subprocess.run([*ALONE, "mount -t tmpfs none /mnt"], capture_output=True)
    except FileNotFoundError:
        return False
    return mounted.returncode == 0


needs_mounts = pytest.mark.skipif(not allowed(), reason="needs unshare and the right to mount")


def on_a_small_disk(folder, size, *command, **options):
    """Run a command for which a disk of `size` bytes lies at `folder`."""
    folder.mkdir(exist_ok=True)
    return run(SMALL, folder, size, *command, **options)


def read_only(folder, *command, **options):
    """Run a command for which `folder` can only be read, also by root."""
    return run(READ_ONLY, folder, *command, **options)


def run(script, *arguments, **options):
    words = [*ALONE, script, "sh", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
