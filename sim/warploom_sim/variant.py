"""A preset with some of its fields changed, and the name of what is made from it."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from warploom_spec import Config, WarploomError, preset

#: Bytes of a file's or folder's name that file systems take.
LONGEST: Final = 255


@dataclass(frozen=True)
class Variant:
    """A configuration and its name: the preset's, then each field that differs, with its value."""

    name: str
    config: Config


def variant(name: str, settings: Sequence[str] = ()) -> Variant:
    """Return a preset with fields set, as `with_settings` does, and its name.

    Raises
    ------
    WarploomError
        If `with_settings` refuses them, or the name gets too long.
    """
    base, config = preset(name), with_settings(name, settings)
    differing = [field for field in vars(base) if getattr(config, field) != getattr(base, field)]
    parts = [f"{field}_{shown(getattr(config, field), '_')}" for field in differing]
    made = "-".join([name, *parts])
    if len(made.encode()) > LONGEST:
        raise WarploomError(
            f"{len(parts)} fields are changed, whose names and values make {len(made.encode())}"
            f" bytes of a folder's name; legal: up to {LONGEST}"
        )
    return Variant(made, config)


def with_settings(name: str, settings: Sequence[str]) -> Config:
    """Return a preset with fields set.

    Parameters
    ----------
    name : str
        Of a preset.
    settings : sequence of str
        Each ``FIELD=VALUE``; three widths as ``16,8,8``.

    Raises
    ------
    WarploomError
        If a preset, a field or a value is none, or a field is set twice.
    """
    return changed(preset(name), settings)


def changed(base: Config, settings: Sequence[str]) -> Config:
    """Return a configuration with fields set, as `with_settings` does of a preset's.

    Raises
    ------
    WarploomError
        If a field or a value is none, or a field is set twice.
    """
    changes: dict[str, Any] = {}
    for setting in settings:
        field, value = _read(setting, base)
        if field in changes:
            raise WarploomError(f"{field} is set twice: to {changes[field]} and {value}")
        changes[field] = value
    return dataclasses.replace(base, **changes)


def settings_of(name: str, config: Config) -> tuple[str, ...]:
    """Return the settings that make a configuration of a preset, each ``FIELD=VALUE``."""
    base = vars(preset(name))
    return tuple(
        f"{field}={shown(value, ',')}"
        for field, value in vars(config).items()
        if value != base[field]
    )


def shown(value: Any, between: str = " ") -> str:
    """Return a field's value as text."""
    return between.join(map(str, value)) if isinstance(value, tuple) else str(value)


def _read(setting: str, base: Config) -> tuple[str, Any]:
    field, equals, text = setting.partition("=")
    if not equals:
        raise WarploomError(f"setting is {setting!r}; legal: FIELD=VALUE, such as sms=4")
    fields = vars(base)
    if field not in fields:
        raise WarploomError(f"field is {field!r}; legal: {', '.join(fields)}")
    return field, _value(text, type(fields[field]))


def _value(text: str, kind: type) -> Any:
    """Return a value of its field's type; of other text itself, which the field then refuses."""
    if kind is tuple:
        return tuple(_value(part, int) for part in text.split(","))
    if kind is bool:
        return {"True": True, "False": False}.get(text, text)
    return int(text) if kind is int and re.fullmatch(r"-?[0-9]{1,10}", text) else text
