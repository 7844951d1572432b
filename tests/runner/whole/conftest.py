"""What is collected here: the long run only where its length is given."""

import os

collect_ignore_glob = [] if os.environ.get("KBTOOL_SOAK_S") else ["test_soak.py"]
