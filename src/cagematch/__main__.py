"""``python -m cagematch``: the command ``scheduler``."""

from cagematch.scheduler.cli import main

if __name__ == "__main__":
    main()
