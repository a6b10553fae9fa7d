"""`stickslip` and `python -m stickslip`: the command line, whose modules take a moment to load, in which Ctrl-C ends it
with a word as well."""

import sys


def main() -> None:
    try:
        from stickslip.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("stickslip: stopped\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
