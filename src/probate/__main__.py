"""The door of the process: `probate …` and `python -m probate …`."""

import sys
import time

_BEGAN = time.monotonic()  # before the imports, so that they count in what the server says of its start


def main() -> None:
    """Run the command line."""
    from probate import assembly  # noqa: PLC0415
    from probate.cli import main as cli  # noqa: PLC0415

    try:
        cli.run(serve=lambda settings: assembly.serve(settings, began=_BEGAN))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
