"""Train a model as section 5 of the paper does."""
