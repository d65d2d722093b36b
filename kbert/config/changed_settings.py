"""What a config says beyond its defaults."""

import dataclasses


def changed_settings(config) -> dict:
    """The settings of a dataclass, all of which have defaults, that are not these; ready for JSON."""
    values, absent = dataclasses.asdict(config), dataclasses.asdict(type(config)())
    return {name: value for name, value in values.items() if value != absent[name]}
