"""What front end and workers share."""
