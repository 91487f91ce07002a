"""Tasks: what a network is trained for and judged by, one file each. Importing them loads no PyTorch."""

from cnet.training.tasks.task import TASKS, Task, TaskMetric, class_rows

__all__ = ["TASKS", "Task", "TaskMetric", "class_rows"]
