"""Residents without any latency: a slow and plain reference, in order of time."""

import heapq
from collections import defaultdict

from tb.support.replay_reference import block_length
from warploom_golden.replay.machine import block_needs
from warploom_spec import capacities


def plain_ends(launches, pairs, config, seed):
    """Return when each launch ends, and the run: blocks are placed at once, launches start at once.

    Of the residents with blocks left the highest priority is placed first, then the oldest one;
    when its next block fits nowhere nothing behind it is placed. Launches are there from the start.
    """
    queues, started, left, out = defaultdict(list), {}, {}, {}
    ended, counts, free = {}, defaultdict(int), [list(capacities(config).values())] * config.sms
    free = [list(amounts) for amounts in free]
    for number, launch in enumerate(launches):
        queues[launch.stream].append(number)
    running, now, turn = [], 0, 0
    while len(ended) < len(launches):
        for queue in queues.values():
            if queue and queue[0] not in started:
                awaited = pairs[queue[0]]
                if all(counts[stream] >= count for stream, count in awaited):
                    started[queue[0]] = len(started)
                    left[queue[0]] = blocks(launches[queue[0]])
                    out[queue[0]] = 0
        ready = [n for n in started if n not in ended and left[n]]
        ready.sort(key=lambda n: (-launches[n].priority, started[n]))
        placed = False
        if ready:
            number, need = ready[0], block_needs(launches[ready[0]], config)
            for k in range(config.sms):
                sm = (turn + k) % config.sms
                if all(has >= one for has, one in zip(free[sm], need, strict=True)):
                    free[sm] = [has - one for has, one in zip(free[sm], need, strict=True)]
                    place = left[number].pop(0)
                    launch = launches[number]
                    length = block_length(seed, launch.code, launch.arguments, place)
                    heapq.heappush(running, (now + length, sm, number))
                    out[number] += 1
                    turn, placed = sm + 1, True
                    break
        if placed:
            continue
        now, sm, number = heapq.heappop(running)
        need = block_needs(launches[number], config)
        free[sm] = [has + one for has, one in zip(free[sm], need, strict=True)]
        out[number] -= 1
        if not left[number] and not out[number]:
            ended[number] = now
            queues[launches[number].stream].pop(0)
            counts[launches[number].stream] += 1
    return ended, now


def blocks(launch):
    """Return the places of a launch's blocks, in order of their id."""
    gx, gy, gz = launch.grid
    return [(x, y, z) for z in range(gz) for y in range(gy) for x in range(gx)]
