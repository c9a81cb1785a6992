"""How fast SimPy delivers messages: `deliveries.py ring HOPS SECONDS` or `deliveries.py ricart-agrawala N SECONDS`
prints the deliveries of a run, how many runs there were, and the seconds they took.

A message is a timeout with a callback, the quickest way SimPy has: processes and stores take several times as long.
"""

import random
import sys
import time

import simpy

RING = 32
TOKENS = 128
SECTION = 1000


class World:
    def __init__(self, seed):
        self.env = simpy.Environment()
        self.chance = random.Random(seed).random
        self.delivered = 0

    def send(self, receive, *message):
        """After a random delay, `receive` is told the message."""

        def arrive(_):
            self.delivered += 1
            receive(*message)

        self.env.timeout(1 + 999 * self.chance()).callbacks.append(arrive)


def ring(hops, seed):
    """Every token goes round, as often as it has hops."""
    world = World(seed)

    def receive(process, left):
        if left > 0:
            world.send(receive, (process + 1) % RING, left - 1)

    for process in range(RING):
        for _ in range(TOKENS // RING):
            world.send(receive, (process + 1) % RING, hops - 1)
    world.env.run()
    return world.delivered


class RicartAgrawala:
    def __init__(self, world, id, n):
        self.world, self.id, self.n = world, id, n
        self.own = (1, id)
        self.replies = 0
        self.deferred = []
        self.over = False

    def ask(self, everybody):
        self.everybody = everybody
        for other in everybody:
            if other is not self:
                self.world.send(other.on_request, *self.own)

    def on_request(self, clock, id):
        if self.over or (clock, id) < self.own:
            self.world.send(self.everybody[id].on_reply)
        else:
            self.deferred.append(id)

    def on_reply(self):
        self.replies += 1
        if self.replies == self.n - 1:
            self.world.env.timeout(SECTION).callbacks.append(self.leave)

    def leave(self, _):
        self.over = True
        for id in self.deferred:
            self.world.send(self.everybody[id].on_reply)


def ricart_agrawala(n, seed):
    world = World(seed)
    everybody = [RicartAgrawala(world, id, n) for id in range(n)]
    for process in everybody:
        process.ask(everybody)
    world.env.run()
    assert all(process.over for process in everybody)
    return world.delivered


def main():
    work, size, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    run = ring if work == "ring" else ricart_agrawala
    runs, start = 0, time.perf_counter()
    while runs == 0 or time.perf_counter() - start < seconds:
        each = run(size, runs)
        runs += 1
    print(each, runs, time.perf_counter() - start)


if __name__ == "__main__":
    main()
