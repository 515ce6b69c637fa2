#!/usr/bin/env bash
# empty_root.sh WHEEL: tries a wheel in a new Debian that has Python and no compiler. Needs root, debootstrap, and an index
# that pip reaches. The wheels of the requirements are loaded outside, since the new system has no network set up.
set -euo pipefail
wheel=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
release=${RELEASE:-bookworm}  # its Python must be the wheel's
root=$(mktemp -d /tmp/hemiola-root.XXXXXX)
trap 'umount -q "$root/proc" "$root/dev/shm" || true; rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase --include=python3,python3-venv "$release" "$root" >/dev/null
mkdir -p "$root/wheels" "$root/dev/shm"
python3 -m pip download -q --only-binary :all: -d "$root/wheels" "$wheel"
cp "$here/try_wheel.py" "$root/"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm"
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 "$@"; }
! in_root which cc gcc c++ g++ || { echo "expected no compiler in the new system"; exit 1; }
in_root python3 -m venv /env
in_root /env/bin/pip install -q --no-index --find-links /wheels hemiola
in_root /env/bin/python /try_wheel.py
