"""The peak memory of a program: it must not grow with the size of its data."""

import subprocess
import sys

_TELL = """
(peak,) = (line.split()[1] for line in open("/proc/self/status") if line[:6] == "VmHWM:")
print(int(peak) // 1024)
"""


def peak_memory_mb(program, *arguments):
    """Run the text of a Python program in its own process; return its peak memory in MB."""
    command = [sys.executable, "-c", program + _TELL, *map(str, arguments)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
