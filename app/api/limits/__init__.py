"""Limits of the rate of requests, which all API processes share through the broker."""
