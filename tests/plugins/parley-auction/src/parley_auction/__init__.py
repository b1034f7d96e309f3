"""Sealed-bid auctions: a protocol that Parley finds by entry points alone."""
