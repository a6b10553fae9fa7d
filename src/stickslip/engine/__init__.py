"""From a scene to a trajectory: one step, the loop, and the record of it."""
