"""Studies: a grid of jobs, submitted, followed and cancelled as one."""
