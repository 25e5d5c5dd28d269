"""``python -m tf_transformer`` is ``tf-transformer``."""

import sys

from tf_transformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
