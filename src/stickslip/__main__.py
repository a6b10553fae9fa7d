"""`python -m stickslip` is the command line."""

from stickslip.cli import main

main()
