"""Views: from a record to plain frozen data in which every text and every number is decided.

A view knows models, vocabulary and cards; it knows nothing of HTML. Templates loop over it.
"""
