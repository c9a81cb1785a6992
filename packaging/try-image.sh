#!/bin/sh
# Unpacks a container image, starts a cluster in it, and takes a lock. `cargo xtask verify clean-root` runs it so:
#   unshare --mount --net --pid --fork --kill-child sh packaging/try-image.sh ARCHIVE
set -eu
archive=$1
ip link set lo up
space=$(mktemp -d)
mount -t tmpfs -o mode=755 space "$space"
mkdir "$space/image" "$space/root"
tar -C "$space/image" -xf "$archive"
# Layers are the compressed archives among the blobs, and the image has few of them, which do not replace each other's files.
for blob in "$space"/image/blobs/sha256/*; do
    if gzip -t "$blob" 2>/dev/null; then
        tar -C "$space/root" -xzf "$blob"
    fi
done
root=$space/root
[ "$(find "$root" -name '*.so*' -o -name sh | wc -l)" = 0 ] || { echo "error: the image has more than the program" >&2; exit 1; }
# Every container has these.
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
inside() {
    chroot --userspec=7480:7480 "$root" /usr/bin/quorate "$@"
}
inside up -n 3 >/dev/null 2>&1 &
tries=0
until inside status >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "error: no cluster in the image" >&2; exit 1; }
    sleep 0.1
done
echo "==> in the image: $(inside lock deploy -- /usr/bin/quorate --version), under a lock"
