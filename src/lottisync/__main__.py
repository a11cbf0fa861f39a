"""`python -m lottisync` is the `lottisync` command."""

from lottisync.cli.main import main

main()
