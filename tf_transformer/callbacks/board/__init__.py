"""What TensorBoard shows of a run: tags, event files, and what is made for each of its tabs."""
