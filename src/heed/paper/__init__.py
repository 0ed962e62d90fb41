"""The paper's tables: the published rows as data, and what heed measures beside them. Never torch."""
