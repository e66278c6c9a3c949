"""Runs: what is asked (spec), how a token is drawn (sampler), the loop (decoder), what it leaves behind (trace)."""
