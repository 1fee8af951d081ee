"""Makes and checks records; the package says how."""

import sys

from clbook_book.records import main

if __name__ == "__main__":
    sys.exit(main())
