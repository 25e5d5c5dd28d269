"""What happens between the updates of a training: counting, validating, saving, showing."""
