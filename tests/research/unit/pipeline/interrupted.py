"""A command that Ctrl-C meets at a moment of one's choice."""

INTERRUPTED = """
import importlib, os, signal, sys
from camcast.cli.app import main

module, _, name = sys.argv[1].rpartition(".")
try:
    place = importlib.import_module(module)
except ModuleNotFoundError:
    module, _, owner = module.rpartition(".")
    place = getattr(importlib.import_module(module), owner)
then = getattr(place, name)

def interrupt(*given, **named):
    os.kill(os.getpid(), signal.SIGINT)
    return then(*given, **named)

setattr(place, name, interrupt)
sys.argv = ["camcast", *sys.argv[2:]]
main()
"""
"""A script; it is given what is about to be called at the moment, and the command."""
