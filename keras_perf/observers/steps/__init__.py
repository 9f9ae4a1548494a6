"""From the times of executions to the parts of a step, and to what is unusual."""
