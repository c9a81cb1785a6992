"""Two leases and one lock, with etcd3-py."""

import sys
import threading

import etcd3

port = int(sys.argv[1])
client = etcd3.Client("127.0.0.1", port)
lease = client.lease_grant(TTL=30, ID=0x309)
print(f"lease {lease.ID}, {lease.TTL} s")
client.lease_grant(TTL=30, ID=0x30A)
held = client.lock("py", lease=0x309)
print("locked", held.key.decode())
life = client.lease_time_to_live(0x309, keys=True)
print("keys", *(key.decode() for key in life.keys))

came = []
waiter = threading.Thread(
    target=lambda: came.append(etcd3.Client("127.0.0.1", port).lock("py", lease=0x30A))
)
waiter.start()
waiter.join(0.5)
print("waits" if waiter.is_alive() else "does not wait")
client.unlock(held.key)
print("unlocked")
waiter.join(10)
print("locked", came[0].key.decode())
client.lease_revoke(0x30A)
print("revoked")
