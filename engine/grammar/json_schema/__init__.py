"""JSON Schema to constraint.

source.py reads the text, document.py finds its parts, conjunction.py splits what must hold into alternatives, facts.py
gathers what one alternative says, values.py, objects.py, strings.py and numbers.py write it as terms.
"""
