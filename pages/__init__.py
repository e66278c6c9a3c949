"""One thin script per page; modules with a leading underscore are what the pages share."""
