"""Debates in a browser, and for programs that speak HTTP; needs the extra `web`."""
