"""The paper's experiments: the published rows as data, and what heed measures beside them."""
