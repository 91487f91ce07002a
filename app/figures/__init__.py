"""Figures as SVG: the plots of the page, which the API also sends by themselves."""
