"""What a host does with the core, call by call: for the C driver and the Python driver alike.

A tour is blocking code. It returns what the calls gave, as plain data.
"""

from dataclasses import asdict

from simt_host.c_calls import Refused
from warploom_host import CommandFailed, HostDriver, HostTimeout, QuietLaunch
from warploom_spec import LaunchDescriptor, WarploomError
from warploom_spec.resources import AMOUNT_FIELDS

BUS_ERROR, NOT_THERE, BUSY, WAITED, RANGE, EMPTY = -1, -2, -5, -6, -7, -8
FULL, QUIET = -9, -10


class PythonDriver:
    """The Python calls under the names that the tours use; each returns a code first."""

    def __init__(self, driver: HostDriver, functions):
        self._plain = driver
        self._waiting = HostDriver(*functions[:2], driver._config, 1000, functions[2])
        self.interrupts = False

    def call(self, name, *arguments, **settings):
        driver = self._waiting if self.interrupts else self._plain
        try:
            return 0, getattr(driver, name)(*arguments, **settings)
        except CommandFailed as error:
            return error.outcome.code, error.outcome
        except HostTimeout:
            return WAITED, None
        except QuietLaunch:
            return QUIET, None
        except WarploomError as error:
            return BUSY if "busy" in str(error) else RANGE, None
        except Refused:
            return BUS_ERROR, None

    def identify(self):
        error, _ = self.call("identify")
        return NOT_THERE if error == RANGE else error

    def launch(self, section, inline=(), waits=(), **fields):
        error, made = self.call("launch_after", section, descriptor(inline, fields), waits)
        return error, 0 if error else made.ticket

    def submit_launch(self, section, waits=(), **fields):
        return self.call("submit_launch", section, descriptor((), fields), waits)[0]

    def poll(self, section):
        error, outcome = self.call("poll", section)
        if not error and outcome is None:
            return BUSY, {}
        return error, asdict(outcome) if outcome else {}

    def run(self, section, code, arguments=0, **task):
        error, outcome = self.call("run", section, code, arguments, **task)
        return error, asdict(outcome) if outcome else {}

    def disconnect(self, section):
        error, _ = self.call("submit_disconnect", section)
        if not error:
            error, outcome = self.call("wait", section)
        return error or outcome.code

    def results(self, section, count):
        return self.call("results", section, count)

    def abort(self, section, ticket):
        return self.call("abort", section, ticket)[0]

    def preempt(self, section, streams):
        return self.call("preempt", section, streams)[0]

    def resume(self, section, streams):
        return self.call("resume", section, streams)[0]

    def abort_streams(self, section, streams):
        return self.call("abort_streams", section, streams)[0]

    def set_launch_timeout(self, cycles):
        return self.call("set_launch_timeout", cycles)[0]

    def set_irq_timeout(self, cycles):
        return self.call("set_irq_timeout", cycles)[0]

    def clock(self):
        return self.call("clock")

    def take_record(self):
        error, record = self.call("take_record")
        if not error and record is None:
            return EMPTY, {}
        return error, asdict(record) if record else {}

    def wait_record(self):
        error, record = self.call("wait_record")
        return error, asdict(record) if record else {}

    def enable_irq(self, bits, threshold):
        return self.call("enable_irq", bits, threshold)[0]

    def acknowledge_irq(self):
        return self.call("acknowledge_irq")

    def clear_stream(self, stream):
        return self.call("clear_stream", stream)[0]

    def reset_units(self, units):
        return self.call("reset_units", units)[0]

    def enable_sms(self, sms):
        return self.call("enable_sms", sms)[0]

    def soft_reset(self):
        return self.call("soft_reset")[0]


def descriptor(inline, fields):
    rest = dict(fields)
    grid = tuple(rest.pop(name, 1) for name in ("gx", "gy", "gz"))
    block = tuple(rest.pop(name, 1) for name in ("dx", "dy", "dz"))
    return LaunchDescriptor(grid=grid, block=block, inline=tuple(inline) or (0,), **rest)


def kernel(blocks=3, cycles=20, **fields):
    """Return a launch of blocks of one warp that take so many cycles each."""
    sizes = {"gx": blocks, "gy": 1, "gz": 1, "dx": 8, "dy": 1, "dz": 1}
    needs = dict.fromkeys(AMOUNT_FIELDS, 0) | {"warp_registers": 1}
    return sizes | needs | {"code": cycles, "arguments": 0} | fields


def work(driver, sms, cores):
    """Identify, launch, wait for records by polling and by interrupt, run tasks."""
    found = {"identify": driver.identify()}
    found["launch"] = driver.launch(0, **kernel(), inline=[0x1234_5678_9ABC_DEF0])
    found["record"] = driver.wait_record()
    found["none"] = driver.take_record()[0]
    found["irq"] = driver.enable_irq(1, 2)
    driver.interrupts = True
    found["two"] = [driver.launch(1, **kernel(blocks=2, stream=n))[1] for n in range(2)]
    found["records"] = [driver.wait_record()[1]["ticket"] for _ in range(2)]
    driver.interrupts = False
    found["status"] = driver.acknowledge_irq()
    task = {"code": 5, "arguments": 9, "first": 100, "parts": 3, "larger": 1, "small": 4}
    found["task"] = driver.run(0, **task)
    found["parts"] = sorted(cores.parts)
    found["fails"] = driver.run(0, **task | {"code": 13, "parts": 1})
    found["blocks"] = sorted(sms.blocks)
    return found


def troubles(driver, sms, cores):
    """Meet refusals, abort launches, reset; the core works on after each."""
    found = {}
    found["refused"] = driver.launch(0, **kernel(blocks=0))
    found["field"] = driver.launch(0, **kernel(gy=300))
    found["no section"] = driver.launch(2, **kernel())[0]
    found["range"] = driver.launch(0, **kernel(dx=4096))[0]
    found["no unit"] = driver.run(1, code=1)[0]
    found["split"] = driver.run(0, code=1, parts=5, small=1)[0]
    found["unknown"] = driver.abort(0, 99)
    ticket = driver.launch(0, **kernel(blocks=2, cycles=4000))[1]
    waiting = driver.launch(0, **kernel())[1]
    found["aborts"] = [driver.abort(1, waiting), driver.abort(1, ticket)]
    found["aborted"] = [_fate(driver.wait_record()) for _ in range(2)]
    found["disconnect"] = [driver.disconnect(0), driver.run(0, code=1)[0]]
    found["connected"] = [driver.reset_units(1), driver.run(0, code=1)[0]]
    found["sms"] = [driver.enable_sms(2), driver.launch(0, **kernel(blocks=4))[0]]
    driver.wait_record()
    found["used"] = sorted({n for _, _, n in sms.blocks[-4:]})
    found["stream"] = [driver.clear_stream(n) for n in (3, 255, 256)]
    long = driver.launch(0, **kernel(blocks=20, cycles=4000))[1]
    more = driver.launch(0, **kernel())[1]
    found["reset"] = driver.soft_reset()
    found["ended"] = sorted(_fate(driver.wait_record()) for _ in range(2))
    found["tickets"] = [long, more]
    found["after"] = driver.launch(0, **kernel())
    found["last"] = _fate(driver.wait_record())
    return found


def _fate(answer):
    error, record = answer
    return [error, record.get("ticket"), record.get("fate"), record.get("code")]


def lost_sms(driver, sms, cores):
    """All SMs fall silent: an abort ends by the timers; what comes after is refused."""
    # More blocks than end while the driver reads the launch's answer.
    ticket = driver.launch(0, **kernel(blocks=60))[1]
    sms.silent = True
    found = {"abort": driver.abort(1, ticket), "record": _fate(driver.wait_record())}
    found["after"] = driver.launch(0, **kernel())
    found["reset"] = driver.soft_reset()
    found["still"] = driver.launch(0, **kernel())
    return found
