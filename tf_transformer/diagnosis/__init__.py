"""What is wrong: with a recipe, by one batch of it; with a machine, by what it computes."""
