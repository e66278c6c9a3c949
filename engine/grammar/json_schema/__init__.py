"""JSON Schema to constraint.

source.py reads the text, document.py finds its parts, reading.py turns their keywords into clauses (clauses.py),
conjunction.py splits what must hold into branches of clauses, values.py writes a branch as terms with the help of
objects.py and members.py, arrays.py and items.py, strings.py, formats.py and numbers/. compile.py joins them.
"""
