"""Tests interrupt programs that they start, also where the tests themselves run under nohup."""

import signal

# A program that is started while SIGINT is ignored, as by nohup or with & in a script, ignores it
# too. What has a handler, even one that does nothing, is back at the default in a new program.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
