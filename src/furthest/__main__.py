"""`python -m furthest` is `furthest`."""

from furthest.cli import main

main()
