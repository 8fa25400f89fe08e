"""The entry point of `probate …` and `python -m probate …`."""

import sys
import time

_BEGAN = time.monotonic()  # before the imports, so that the start line includes their time


def main() -> None:
    """Runs the command line."""
    from probate.app import startup  # noqa: PLC0415

    startup.begin()
    from probate.cli import main as cli  # noqa: PLC0415
    from probate.cli.context import CommandContext, StoreCheck  # noqa: PLC0415
    from probate.settings import Settings  # noqa: PLC0415

    def serve(settings: Settings) -> None:
        from probate.app import assembly  # noqa: PLC0415 only this command needs it

        assembly.serve(settings, began=_BEGAN)

    def check_store(address: str) -> StoreCheck:
        from probate.app import store_check  # noqa: PLC0415 only this command needs it

        return store_check.check(address)

    try:
        cli.run(CommandContext(serve, check_store))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
