"""Training: the loop, its schedule, its averages and its state on disk."""
