"""Requests to providers of language models: what constraint is in them, and what the provider makes of it.

compile.py turns the body of a request into a constraint; registry.py lists who may have been asked, one file for each;
providers.py says what each engine does with a schema.
"""
