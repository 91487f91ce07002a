"""Loss terms as torch functions; imported only where a network is trained."""
