#!/bin/sh
# Installs a Debian package in a throw-away root, runs the node by the ExecStart line of its unit, and takes a lock.
# `cargo xtask verify packages` runs it so:
#   unshare --mount --pid --fork --kill-child sh packaging/try-package.sh PACKAGE ADDRESS [ROOT.tar]
# Without an archive, the root is a copy-on-write view of this machine's. ADDRESS is a free address on loopback.
set -eu
package=$1 address=$2 archive=${3:-}

fail() {
    echo "error: $*" >&2
    exit 1
}

# Everything is on a file system in memory that ends with this process.
space=$(mktemp -d)
mount -t tmpfs -o mode=755 space "$space"
root=$space/root
mkdir "$root"
if [ -n "$archive" ]; then
    tar -C "$root" -xf "$archive"
else
    mkdir "$space/changes" "$space/work"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$space/changes,workdir=$space/work" "$root"
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/tmp"
cp "$package" "$root/tmp/quorate.deb"
inside() {
    ${inside:-} chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}
[ ! -e "$root/etc/quorate" ] || fail "this machine has a configuration of quorate"
# The value of a key in the unit.
unit() {
    sed -n "s/^$1=//p" "$root/lib/systemd/system/quorate.service"
}
# Runs the node as systemd would, in the background.
start_node() {
    QUORATE_NODE_FLAGS=$1
    command=$(eval "echo \"$(unit ExecStart)\"")
    inside install -d -o "$(unit User)" -g "$(unit Group)" -m "$(unit StateDirectoryMode)" "/var/lib/$(unit StateDirectory)"
    # shellcheck disable=SC2086 # The line of the unit consists of words.
    # A process of its own becomes the node, so that signals reach it.
    (inside=exec inside NOTIFY_SOCKET="${NOTIFY_SOCKET:-}" setpriv --reuid="$(unit User)" --regid="$(unit Group)" --clear-groups \
        --no-new-privs --bounding-set=-all --inh-caps=-all $command) 2>>"$space/log" &
    node=$!
}
stop_node() {
    kill "$node"
    wait "$node" || fail "the node ended with $? after SIGTERM"
}
lock() {
    # shellcheck disable=SC2016 # The command of the lock expands the variable.
    inside quorate lock deploy --timeout 20s --endpoint "$address:7480" -- sh -c 'echo $QUORATE_TOKEN'
}

echo "==> install"
inside dpkg -i /tmp/quorate.deb
inside id quorate
[ "$(stat -c %a "$root/etc/quorate")" = 750 ] || fail "the configuration is readable for everyone"
[ ! -e "$root/var/lib/quorate" ] || fail "a data folder exists before the node has started"
for file in usr/share/man/man1/quorate.1.gz usr/share/man/man1/quorate-lock.1.gz \
    usr/share/bash-completion/completions/quorate usr/share/zsh/vendor-completions/_quorate \
    usr/share/fish/vendor_completions.d/quorate.fish usr/share/doc/quorate/copyright; do
    [ -s "$root/$file" ] || fail "$file is missing"
done

echo "==> without a configuration the node does not start"
code=0
inside quorate node --config /etc/quorate/node.toml 2>"$space/log" || code=$?
[ $code = 2 ] || fail "the node ended with $code: $(cat "$space/log")"

echo "==> a cluster of one node, by the unit's ExecStart"
sed -i "s/^#cluster/cluster/; s/^#id/id/; s/^#clients.*/clients = \"$address:7480\"/; s/^#\[peers\]/[peers]/; \
    s/^#0 = .*/0 = \"$address:7481\"/" "$root/etc/quorate/node.toml"
sum=$(md5sum <"$root/etc/quorate/node.toml")
start_node --new-cluster
first=$(lock) || fail "no lock: $(cat "$space/log")"
stop_node

echo "==> reinstalled, it keeps its configuration and its votes"
inside dpkg -i /tmp/quorate.deb
[ "$sum" = "$(md5sum <"$root/etc/quorate/node.toml")" ] || fail "the configuration was overwritten"
start_node ''
second=$(lock) || fail "no lock after a restart: $(cat "$space/log")"
stop_node
[ "$second" -gt "$first" ] || fail "token $second after token $first"

echo "==> removed, it leaves its configuration and its data; purged, nothing"
inside dpkg --remove quorate
[ -e "$root/etc/quorate/node.toml" ] && [ -n "$(ls "$root/var/lib/quorate")" ] || fail "a removal deletes state"
inside dpkg --purge quorate
[ ! -e "$root/etc/quorate" ] && [ ! -e "$root/var/lib/quorate" ] || fail "a purge leaves files"
echo "==> tokens $first and $second"
