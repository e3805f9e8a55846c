#!/bin/sh
# Installs Debian's Python and a lock's packages into /opt/clipaudit, for both images.
# They do not contain clipaudit: jobs run the code of the folder they are started in.
set -eu
lock=$1
apt-get update
apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv
rm -rf /var/lib/apt/lists/*
python3 -m venv /opt/uv
/opt/uv/bin/pip install --no-cache-dir uv
/opt/uv/bin/uv venv /opt/clipaudit
/opt/uv/bin/uv pip sync --no-cache --compile-bytecode --python /opt/clipaudit/bin/python "$lock"
rm -rf /opt/uv
