"""Grammars as people write them: GBNF (gbnf.py) and a subset of Lark (lark.py, lark_terminals.py).

Both are read to rules (rules.py), from which terms.py makes terms, left recursion removed; compile.py joins them.
"""
