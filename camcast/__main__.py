"""``python -m camcast`` is the command ``camcast``."""

from camcast.cli.main import main

if __name__ == "__main__":
    main()
