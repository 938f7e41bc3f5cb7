"""The SMs behind a dispatcher in Python: they take blocks, hold them, complete them, or die."""

import random
from collections.abc import Mapping

from tb.support.weather import Forecast, Weather
from warploom_spec import Config, ErrorCode, layouts

Ports = Mapping[str, int]


class SmCore:
    """One SM.

    It keeps to ``docs/dispatch/sm/port.md`` except where its weather says otherwise.

    Parameters
    ----------
    number : int
        Its number.
    config : Config
        Widths.
    rng : random.Random
        For all that it does.
    """

    def __init__(self, number: int, config: Config, rng: random.Random):
        self._rng = rng
        self._slots = config.block_slots
        self._patience = config.kill_timeout
        self._offer = layouts.block_offer(config)
        self._completion = layouts.block_completion(config)
        self._mask = layouts.slot_mask(config)
        self._valid, self._payload = f"offer__{number}__valid", f"offer__{number}__payload"
        self._ready = f"offer__{number}__ready"
        self._kill = f"kill__{number}"
        self._completion_valid = f"completion__{number}__valid"
        self._completion_payload = f"completion__{number}__payload"
        self._acknowledge = f"acknowledge__{number}"
        self._spell = -1
        self._deaf = False
        self.reset()

    def reset(self) -> None:
        """Forget all blocks."""
        self._due: dict[int, int] = {}
        self._was_ready = False
        self._completed_at_once: int | None = None
        self._named = 0
        self._answer_at: int | None = None
        self._hurried: list[int] = []

    def next(self, cycle: int, outputs: Ports | None, forecast: Forecast) -> dict[str, int]:
        """Return the SM's signals in ``cycle``; ``outputs`` are those of the cycle before."""
        weather = forecast.now
        if self._spell != forecast.spell:
            self._spell = forecast.spell
            self._deaf = self._rng.random() < weather.deaf
        refused = None
        if outputs is None:
            self.reset()
        else:
            refused = self._look(cycle, outputs, weather)
        ready = not self._deaf and self._rng.random() < weather.ready
        self._completed_at_once = None
        if refused is not None and ready and self._rng.random() < weather.instant:
            self._completed_at_once = refused
        completes = self._completed_at_once
        if completes is None:
            completes = self._choose(cycle, weather)
        self._hurried = []
        self._was_ready = ready
        return {
            self._ready: int(ready),
            **self._complete(completes, weather),
            self._acknowledge: self._answer(cycle, weather),
        }

    def _look(self, cycle: int, outputs: Ports, weather: Weather) -> int | None:
        """See what the cycle before brought; return the slot of an offer that was refused."""
        refused = None
        if outputs[self._valid]:
            slot = self._offer.unpack(outputs[self._payload])["slot"]
            if not self._was_ready:
                refused = slot
            elif slot != self._completed_at_once:
                self._due[slot] = cycle - 1 + self._rng.randint(*weather.length)
        kill = outputs[self._kill]
        if kill:
            self._named = self._mask.unpack(kill)["mask"]
            # The pulse was in the cycle before.
            self._answer_at = cycle - 1 + self._rng.randint(*weather.answer)
            if self._rng.random() < weather.silent:
                self._answer_at = None
                if weather.gasp and self._rng.random() < weather.gasp:
                    self._gasp(cycle)
        return refused

    def _gasp(self, cycle: int) -> None:
        """Let blocks that the kill does not name complete when it is nearly given up."""
        for slot in self._due:
            if not self._named >> slot & 1:
                self._due[slot] = cycle + self._patience - self._rng.randint(1, 3)

    def _answers(self, cycle: int) -> bool:
        """Tell whether a kill is acknowledged in this cycle."""
        return bool(self._named) and self._answer_at is not None and cycle >= self._answer_at

    def _choose(self, cycle: int, weather: Weather) -> int | None:
        """Return the slot that completes in this cycle."""
        if self._hurried:
            return self._rng.choice(self._hurried)
        doomed = [slot for slot in self._due if self._named >> slot & 1]
        if doomed and self._answers(cycle) and self._rng.random() < weather.last_moment:
            return self._rng.choice(doomed)
        due = [slot for slot, at in self._due.items() if at <= cycle]
        if due and (not weather.together or cycle % 8 == 0):
            return self._rng.choice(due)
        if self._rng.random() < weather.bogus:
            return self._rng.randrange(1 << self._completion.fields[0].bits)
        return None

    def _complete(self, slot: int | None, weather: Weather) -> dict[str, int]:
        """Return the completion port's values."""
        if slot is None:
            idle = self._rng.getrandbits(self._completion.bits)
            return {self._completion_valid: 0, self._completion_payload: idle}
        self._due.pop(slot, None)
        fault = self._rng.random() < weather.fault
        payload = {"slot": slot, "code": int(ErrorCode.BLOCK_FAULT) if fault else 0}
        return {
            self._completion_valid: 1,
            self._completion_payload: self._completion.pack(payload),
        }

    def _answer(self, cycle: int, weather: Weather) -> int:
        """Return the acknowledgement port's value: what was named and did not complete."""
        bogus = self._rng.random() < weather.bogus
        if not self._answers(cycle):
            hasty = self._rng.random() < weather.hasty
            if (bogus or hasty) and not self._named:
                return self._mask.pack({"valid": 1, "mask": self._rng.getrandbits(self._slots)})
            return self._mask.pack({"valid": 0, "mask": self._rng.getrandbits(self._slots)})
        killed = self._named & sum(1 << slot for slot in self._due)
        for slot in [slot for slot in self._due if killed >> slot & 1]:
            del self._due[slot]
        self._named = 0
        if weather.after_kill and self._rng.random() < weather.after_kill:
            gone = [slot for slot in range(self._slots) if killed >> slot & 1]
            self._hurried = list(self._due) or gone
        wrong = self._rng.getrandbits(self._slots) if bogus else 0
        if weather.wrong and self._rng.random() < weather.wrong:
            wrong = 1 << self._rng.randrange(self._slots)
        return self._mask.pack({"valid": 1, "mask": killed | wrong})


class SmCores:
    """All SMs.

    Parameters
    ----------
    config : Config
        Their number and size.
    rng : random.Random
        For all that they do.
    """

    def __init__(self, config: Config, rng: random.Random):
        self._cores = [
            SmCore(n, config, random.Random(rng.getrandbits(64))) for n in range(config.sms)
        ]

    def next(self, cycle: int, outputs: Ports | None, forecast: Forecast) -> dict[str, int]:
        """Return all SMs' signals in ``cycle``; ``outputs`` are those of the cycle before."""
        values: dict[str, int] = {}
        for core in self._cores:
            values |= core.next(cycle, outputs, forecast)
        return values
