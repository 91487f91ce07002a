"""The web page: HTML that this server renders, which is readable without scripts and needs no other host."""
