"""CAMCAST: publish/subscribe without a broker, over hierarchical topics, on gossip."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it for True; `typing` would cost as much as all of this

if TYPE_CHECKING:
    from camcast.interface import *  # noqa: F403  # its names are ours
    from camcast.interface import __all__ as __all__
else:

    def __getattr__(name):
        """Return a name of the interface, all of which are imported by the first one (PEP 562)."""
        if name == "interface" or (name.startswith("__") and name != "__all__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from camcast import interface

        names = globals()
        names.update({one: getattr(interface, one) for one in ("__all__", *interface.__all__)})
        if name not in names:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return names[name]

    def __dir__():
        return sorted(dict.fromkeys([*globals(), *__getattr__("__all__")]))
