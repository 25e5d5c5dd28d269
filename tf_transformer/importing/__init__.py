"""Models that other systems have trained, as runs."""
