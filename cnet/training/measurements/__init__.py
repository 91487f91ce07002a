"""What is measured on a network without training it: accuracy, loss, curvature, statistics of batch normalization."""
