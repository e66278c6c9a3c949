"""Learn: lessons as data (`lessons/*.md`), the page that plays one, and the experiments they name."""
