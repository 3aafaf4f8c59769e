"""`python -m unembed` (and `accelerate launch -m unembed`): the command line."""

from unembed.cli.main import main

main()
