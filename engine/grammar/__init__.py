"""Sources of constraints: JSON Schema, regular expressions, lists of choices; each compiles to a `Constraint`."""
