"""JSON numbers as terms: bounds, multiples and exclusions, exactly.

text.py decides what is offered, spans.py holds exact sets of numbers, digits.py spells plain ones, multiples.py counts
remainders; positional.py and scientific.py are the rules for divisors and for exponents.
"""
